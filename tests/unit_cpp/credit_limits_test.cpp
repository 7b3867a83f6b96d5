// SPDX-License-Identifier: Apache-2.0
// Checks how much may be under way in an exchange by credit, and that links of all rates have limits that fit.
#include <initializer_list>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "antiphon/credit.hpp"
#include "antiphon/select.hpp"

using namespace antiphon;

TEST_CASE("credit: short messages all go at once where they are few bytes together") {
  const auto sent_at_once = [](std::int64_t bytes, bool unattended = false) {
    const CreditLimits limits{.short_window_bytes = 2000, .short_at_once_bytes = 3500};
    CreditExchange exchange(0, 8, limits);
    exchange.set_unattended(unattended ? 7000 : 0);
    std::vector<std::int64_t> sizes(8, bytes);
    sizes[0] = 0;
    exchange.reset(sizes, sizes, {}, true);
    int sent = 0;
    for (CreditExchange::Action a; exchange.next(a);) sent += a.kind == CreditExchange::Kind::send_short ? 1 : 0;
    return sent;
  };
  CHECK(sent_at_once(500) == 7);
  CHECK(sent_at_once(501) == 3);
  CHECK(sent_at_once(1000, true) == 7);
  CHECK(sent_at_once(1001, true) == 1);
}

TEST_CASE("credit: pieces are as long as a fast link carries in a quarter of a millisecond, and fit into the port") {
  CHECK(credit_parameters(0).empty());
  CHECK(credit_parameters(0, 100'000'000).empty());
  CHECK(credit_parameters(131072) == ":piece_bytes=8192,credit_bytes=65536,sender_bytes=16384");
  CHECK(credit_parameters(131072, 100'000'000) == credit_parameters(131072));
  const std::string at_gigabit = ":piece_bytes=32768,credit_bytes=65536,sender_bytes=65536,short_bytes=57344";
  CHECK(credit_parameters(0, 1'000'000'000) == at_gigabit);
  CHECK(credit_parameters(131072, 1'000'000'000) == at_gigabit);
  for (const std::int64_t credit : std::initializer_list<std::int64_t>{0, 1, 40'000, 100'000, 190'536, 3'000'000}) {
    for (const std::int64_t rate :
         std::initializer_list<std::int64_t>{0, 10'000'000, 250'000'000, 500'000'000, 2'500'000'000}) {
      const Choice choice = parse_choice(Collective::alltoallv, "credit" + credit_parameters(credit, rate));
      Problem p;
      p.parameters = choice.parameters;
      CAPTURE(choice.to_string());
      CHECK(p.parameter("piece_bytes") <= p.parameter("sender_bytes"));
      CHECK(p.parameter("sender_bytes") <= p.parameter("credit_bytes"));
      if (credit > 32768) CHECK(p.parameter("credit_bytes") <= credit);
    }
  }
}

TEST_CASE("credit: what ports hold goes without a grant, and at once where a link between switches holds it, too") {
  const auto filled = [](int ranks, int ranks_per_node) {
    CreditLimits limits{.credit_bytes = 48 * 1024, .short_bytes = 8192};
    limits.fill_ports(ranks, ranks_per_node);
    return limits;
  };
  CHECK(filled(2, 1).short_bytes == 96 * 1024);
  CHECK(filled(4, 1).short_bytes == 32 * 1024);
  CHECK(filled(4, 2).short_bytes == 16 * 1024);
  CHECK(filled(16, 1).short_bytes == 8192);
  CHECK(filled(4, 1).short_at_once_bytes == 96 * 1024);
  CHECK(filled(4, 2).short_at_once_bytes == 48 * 1024);
  // Two switches of four nodes: four ranks have four blocks of 8 KiB each for the other four.
  CHECK(filled(8, 1).short_at_once_bytes == 7 * 8192);
  CHECK(filled(8, 8).short_bytes == 8192);
  CreditLimits longer{.short_bytes = 57344, .short_at_once_bytes = 1 << 20};
  longer.fill_ports(16, 1);
  CHECK(longer.short_bytes == 57344);
  CHECK(longer.short_at_once_bytes == 1 << 20);
}
