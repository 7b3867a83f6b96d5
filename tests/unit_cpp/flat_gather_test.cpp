// SPDX-License-Identifier: Apache-2.0
// What senders of a flat gather send before the root asks for it.
#include <doctest/doctest.h>

#include "antiphon/verify.hpp"

using namespace antiphon;

namespace {

/// Returns how many bytes the last rank sends unasked, and checks that the root asks for the rest.
std::int64_t sent_unasked(int ranks, std::int64_t bytes, const Parameters& parameters = {}) {
  const Algorithm& a = *find_algorithm(Collective::gather, "flat");
  Case c{Collective::gather, ranks, 0, bytes};
  c.parameters = resolve_parameters(a, parameters);
  std::int64_t unasked = 0;
  const Schedule sender = a.build(problems_of(c, a.knowledge).back());
  bool asked = false;
  for (const Op& op : sender.ops()) {
    asked = asked || op.kind == OpKind::recv;
    if (op.kind == OpKind::send && !asked) unasked += op.from.bytes;
  }
  CHECK(asked == (unasked < bytes));
  return unasked;
}

}  // namespace

TEST_CASE("a gather's blocks come unasked while one of each rank fits into a port") {
  CHECK(sent_unasked(9, 12288) == 12288);
  CHECK(sent_unasked(13, 8192) == 8192);
}

TEST_CASE("longer blocks begin unasked, and much longer ones are asked for as a whole") {
  CHECK(sent_unasked(9, 12289) == 12288);
  CHECK(sent_unasked(9, 4 * 12288) == 12288);
  CHECK(sent_unasked(9, 4 * 12288 + 1) == 0);
}

TEST_CASE("many ranks' short blocks come unasked, however small a share each has of a port") {
  CHECK(sent_unasked(1025, 1024) == 1024);
  CHECK(sent_unasked(1025, 1025) == 0);
}

TEST_CASE("where nothing may come unasked, the root asks for all but the shortest blocks") {
  CHECK(sent_unasked(2, 1025, {{"unasked_bytes", 0}}) == 0);
}
