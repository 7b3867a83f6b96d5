// SPDX-License-Identifier: Apache-2.0
// Checks that messages for different purposes on one communicator have different tags.
#include <doctest/doctest.h>

#include <set>

#include "call/own_tags.hpp"

using antiphon::mpi::OwnTags;

TEST_CASE("each sender of multicasts has a tag of its own, above those of all operations") {
  for (const int ranks : {2, 8193, 16384, 1 << 19}) {
    const OwnTags tags{1 << 20, ranks};
    REQUIRE(tags.has_senders());
    std::set<int> seen;
    for (int rank = 0; rank < ranks; ++rank) seen.insert(tags.of_sender(rank));
    CHECK(seen.size() == static_cast<std::size_t>(ranks));
    CHECK(*seen.begin() == tags.last_of_operations() + 1);
    CHECK(*seen.rbegin() == tags.greatest);
  }
}

TEST_CASE("a communicator with more ranks than there are tags has none for senders") {
  constexpr int ranks = 1000;
  constexpr int enough = OwnTags::first_of_operations + ranks - 1;
  CHECK(OwnTags{enough, ranks}.has_senders());
  CHECK(OwnTags{enough, ranks}.last_of_operations() < OwnTags::first_of_operations);
  CHECK_FALSE(OwnTags{enough - 1, ranks}.has_senders());
  CHECK(OwnTags{enough - 1, ranks}.last_of_operations() == enough - 1);
}
