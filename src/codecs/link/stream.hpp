// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "codecs/frame/frame.hpp"
#include "codecs/link/window.hpp"
#include "codecs/plan/search.hpp"

namespace antiphon::codec {

/// How many messages of its own channel back a message's references lie, the latest first; 0 where there is none.
using Steps = std::array<std::uint16_t, max_references>;

/// The window's numbers of the latest kept messages of one channel, or of one piece of its messages.
class Numbers {
 public:
  static constexpr std::size_t max_steps = 160;
  void add(std::uint64_t number);
  std::size_t count() const { return latest_.size(); }
  /// `step` is from 1 to count().
  std::uint64_t back(std::size_t step) const { return latest_[(next_ + latest_.size() - step) % latest_.size()]; }

 private:
  std::vector<std::uint64_t> latest_;  // grows to max_steps, then a ring
  std::size_t next_ = 0;
};

/// A plan that builds on earlier messages, and on which.
struct Foretelling {
  Plan plan{Id::temporal, {}};
  Steps steps{};
  bool operator==(const Foretelling& other) const { return steps == other.steps && plan.spec == other.plan.spec; }
};

/// What the sending end knows about the messages of one tag and size: their plans, what came of them, where earlier
/// ones are.
class Stream {
 public:
  struct Context {
    const Options& options;
    const Window& window;
    const Kernel& kernel;
    Work& work;
  };

  /// Whether this message or piece, the next one, must be planned anew. Pieces follow the plans of their message's
  /// first.
  bool needs_plan(std::uint32_t piece) const;
  void make_plan(std::uint32_t piece, ConstBytes raw, const Context& context);
  /// The plan for this message; `past` gets what it builds on. Where the wire leaves the time, all known plans are
  /// looked at.
  const Plan& choose(std::uint32_t piece, ConstBytes raw, bool kept, const Context& context, Past& past);
  /// Whether the receiver shall keep this message.
  bool keeps(std::size_t message_bytes) const;
  void sent(std::uint32_t piece, const Frame& frame, std::size_t raw_bytes, double wire_bytes_per_s);
  void kept(std::uint32_t piece, std::uint64_t number);
  /// The window's first number that this channel may still want; `otherwise` where it wants none.
  std::uint64_t oldest_wanted(std::size_t message_bytes, std::uint64_t otherwise) const;
  std::uint64_t latest() const { return latest_; }

 private:
  struct Candidate {
    Extrapolation extrapolation;
    Steps steps;
    double bytes = 0;
  };
  const Window::Kept* back(std::uint32_t piece, std::size_t bytes, const Window& window, std::size_t step) const;
  Foresight foresight(std::uint32_t piece, std::size_t bytes, const Window& window, Extrapolation extrapolation,
                      const Steps& steps) const;
  std::vector<std::uint16_t> similar(std::uint32_t piece, ConstBytes raw, const Context& context) const;
  std::vector<Candidate> candidates(std::uint32_t piece, ConstBytes raw, const Context& context) const;
  void plan_with_past(std::uint32_t piece, ConstBytes raw, const Context& context, bool thorough);
  void add(const Foretelling& foretelling);
  bool resolve(const Foretelling& foretelling, std::uint32_t piece, std::size_t bytes, const Window& window,
               Past& past) const;
  struct Best {
    int index;  ///< in foretold_; -1: alone_
    double bytes;
  };
  Best best_now(std::uint32_t piece, ConstBytes raw, const Context& context) const;
  void schedule_next_plan(double wire_s);

  Planned alone_;                      ///< the plan without earlier messages
  std::vector<Foretelling> foretold_;  ///< those with them, the latest found first
  int chosen_ = -1;                    ///< index in foretold_; -1: alone_
  std::uint64_t last_temporal_ = 0;    ///< when one was last chosen
  std::uint64_t count_ = 0;            ///< whole messages begun
  std::uint64_t plans_ = 0;
  std::uint64_t last_plan_ = 0;
  std::uint64_t next_plan_ = 0;
  std::uint64_t next_thorough_ = 0;
  double credit_s_ = 0;    ///< time that may go into planning: a small share of what the wire takes
  double reluctance_ = 1;  ///< a plan must be worth so many times its cost; grows while plans find nothing better
  double share_ = 0;       ///< of the first frame of this plan: bytes on the wire per byte of the message
  int worse_ = 0;
  bool disappointed_ = false;
  std::uint64_t patience_ = 2;  ///< messages before a disappointing plan is replaced; doubles
  std::vector<Numbers> pieces_;
  std::uint64_t latest_ = 0;  ///< number of the last kept message
};

}  // namespace antiphon::codec
