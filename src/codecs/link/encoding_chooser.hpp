// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "codecs/frame/frame.hpp"
#include "codecs/link/window.hpp"
#include "codecs/search/spec_search.hpp"

namespace antiphon::codec {

/// How many messages of the same channel lie between a message and each reference, the latest first; 0: no reference.
using Steps = std::array<std::uint16_t, max_references>;

/// The window's numbers of the latest kept messages of one channel, or of one piece of its messages.
class Numbers {
 public:
  static constexpr std::size_t max_steps = 160;
  void add(std::uint64_t number);
  std::size_t count() const { return latest_.size(); }
  /// `step` must be from 1 to count().
  std::uint64_t back(std::size_t step) const { return latest_[(next_ + latest_.size() - step) % latest_.size()]; }

 private:
  std::vector<std::uint64_t> latest_;  // grows to max_steps, then is used as a ring
  std::size_t next_ = 0;
};

/// An encoding that builds on earlier messages, and how many steps back these lie.
struct TemporalEncoding {
  Encoding encoding{Id::temporal, {}};
  Steps steps{};
  bool operator==(const TemporalEncoding& other) const {
    return steps == other.steps && encoding.spec == other.encoding.spec;
  }
};

/// Chooses how the sender encodes the messages of one channel. Planning, which is a search for better encodings, costs
/// time, so this class also decides when it pays. It remembers the encodings, their results and the kept messages.
class EncodingChooser {
 public:
  struct Context {
    const Options& options;
    const Window& window;
    const Kernel& kernel;
    Work& work;
  };

  /// Tells whether to call plan() for this message or piece, which is the next one. Other pieces usually follow the
  /// planning of the first piece.
  bool needs_planning(std::uint32_t piece) const;
  void plan(std::uint32_t piece, ConstBytes raw, const Context& context);
  /// Returns the encoding for this message and sets `references` to the messages that it builds on. If the wire leaves
  /// enough time, it compares all known encodings.
  const Encoding& choose(std::uint32_t piece, ConstBytes raw, bool kept, const Context& context,
                         ReferenceSet& references);
  /// Tells whether the receiver should keep this message.
  bool keeps(std::size_t message_bytes) const;
  void sent(std::uint32_t piece, const Frame& frame, std::size_t raw_bytes, double wire_bytes_per_s);
  void kept(std::uint32_t piece, std::uint64_t number);
  /// Returns the lowest number in the window that this channel may still want, or `otherwise` if it wants none.
  std::uint64_t oldest_wanted(std::size_t message_bytes, std::uint64_t otherwise) const;
  std::uint64_t latest() const { return latest_; }

 private:
  struct Candidate {
    Extrapolation extrapolation;
    Steps steps;
    double bytes = 0;
  };
  const Window::Entry* back(std::uint32_t piece, std::size_t bytes, const Window& window, std::size_t step) const;
  Prediction prediction(std::uint32_t piece, std::size_t bytes, const Window& window, Extrapolation extrapolation,
                        const Steps& steps) const;
  std::vector<std::uint16_t> similar(std::uint32_t piece, ConstBytes raw, const Context& context) const;
  std::vector<Candidate> candidates(std::uint32_t piece, ConstBytes raw, const Context& context) const;
  void plan_temporal(std::uint32_t piece, ConstBytes raw, const Context& context, bool thorough);
  void add(const TemporalEncoding& temporal);
  bool resolve(const TemporalEncoding& temporal, std::uint32_t piece, std::size_t bytes, const Window& window,
               ReferenceSet& references) const;
  struct Best {
    int index;  ///< in temporal_; -1: standalone_
    double bytes;
  };
  Best best_now(std::uint32_t piece, ConstBytes raw, const Context& context) const;
  void schedule_next_plan(double wire_s);

  StandaloneEncoding standalone_;           ///< uses no earlier messages
  std::vector<TemporalEncoding> temporal_;  ///< use earlier messages; the latest found is first
  int chosen_ = -1;                         ///< index in temporal_; -1: standalone_
  std::uint64_t last_temporal_ = 0;         ///< value of count_ when a temporal encoding was last chosen
  std::uint64_t count_ = 0;                 ///< whole messages begun
  std::uint64_t plans_ = 0;
  std::uint64_t last_plan_ = 0;
  std::uint64_t next_plan_ = 0;
  std::uint64_t next_thorough_ = 0;
  double credit_s_ = 0;    ///< time that planning may take: a small share of the wire's time
  double reluctance_ = 1;  ///< planning must be worth this many times its cost; grows while it finds nothing better
  double share_ = 0;       ///< of this plan's first frame: bytes on the wire per byte of the message
  int worse_ = 0;
  bool disappointed_ = false;
  std::uint64_t patience_ = 2;  ///< messages before a disappointing plan is replaced; doubles each time
  std::vector<Numbers> pieces_;
  std::uint64_t latest_ = 0;  ///< number of the last kept message
};

}  // namespace antiphon::codec
