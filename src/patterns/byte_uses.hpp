// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "antiphon/schedule.hpp"

namespace antiphon {

/// Which operation of a schedule wrote each byte last, and which have read it since: what a later operation on the same
/// bytes must wait for. Whatever happened before the last writer, the last writer has waited for.
class ByteUses {
 public:
  void read(const Range& range, OpId op);
  void write(const Range& range, OpId op);
  /// Adds the operations after which these bytes may be read, or written; some may come twice.
  void before_read(const Range& range, std::vector<OpId>& found) const;
  void before_write(const Range& range, std::vector<OpId>& found) const;

 private:
  static constexpr std::int32_t nobody = -1;
  /// A reader and the one before it. Bytes that were read together share the rest of their lists.
  struct Reader {
    OpId op;
    std::int32_t before;
  };
  struct Use {
    std::int64_t end = 0;
    OpId writer = no_op;
    std::int32_t last_reader = nobody;
  };
  /// By their first bytes; they do not overlap. A node's leader gathers tens of thousands of blocks in any order.
  using Uses = std::map<std::int64_t, Use>;

  /// Divides the use that covers `offset`, if one does. Returns the first use from `offset` on.
  static Uses::iterator cut_at(Uses& uses, std::int64_t offset);
  template <class Visit>
  void visit(const Range& range, Visit&& visit) const;
  Uses& of(Space space) { return uses_[static_cast<std::size_t>(space)]; }

  Uses uses_[3];
  std::vector<Reader> readers_;
};

}  // namespace antiphon
