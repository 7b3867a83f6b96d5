// SPDX-License-Identifier: Apache-2.0
#include "cost/closed/tables.hpp"

#include <array>
#include <vector>

namespace antiphon {

namespace closed {

double one_to_each_flat(const ClosedFormCall& c, const LinkClass& l) {
  return (c.ranks - 1) * l.gap.at(c.bytes) + l.latency_s;
}

/// Each rank passes on, in one message, all data that the ranks behind it need.
double one_to_each_chain(const ClosedFormCall& c, const LinkClass& l) {
  double sum = (c.ranks - 1) * l.latency_s;
  for (std::int64_t j = 1; j < c.ranks; ++j) sum += l.gap.at(bytes_of_blocks(j, c.bytes));
  return sum;
}

double one_to_each_pipelined(const ClosedFormCall& c, const LinkClass& l) {
  return (c.ranks - 1) * (l.gap.at(c.bytes) + l.latency_s);
}

double one_to_each_binomial(const ClosedFormCall& c, const LinkClass& l) {
  const int rounds = ceil_log2(c.ranks);
  double sum = rounds * l.latency_s;
  for (int j = 0; j < rounds; ++j) sum += l.gap.at(bytes_of_blocks(std::int64_t{1} << j, c.bytes));
  return sum;
}

}  // namespace closed

std::span<const ClosedForm> closed_forms() {
  static const std::vector<ClosedForm> all = [] {
    std::vector<ClosedForm> list;
    for (const auto part :
         {closed::bcast(), closed::scatter(), closed::gather(), closed::alltoall(), closed::allgather()}) {
      list.insert(list.end(), part.begin(), part.end());
    }
    return list;
  }();
  return all;
}

const ClosedForm* find_closed_form(Collective collective, std::string_view name) {
  for (const ClosedForm& form : closed_forms()) {
    if (form.collective == collective && form.name == name) return &form;
  }
  return nullptr;
}

namespace {

/// The forms that an algorithm follows: for whole messages, for longer messages with a request first, and for segments.
struct Follows {
  Collective collective;
  std::string_view algorithm, whole, rendezvous, segmented;
};

constexpr std::array follows{
    Follows{Collective::bcast, "flat", "flat", "flat_rendezvous", "flat_segmented"},
    Follows{Collective::bcast, "chain", "chain", "chain_rendezvous", "chain_segmented"},
    Follows{Collective::bcast, "binary", "binary", "", ""},
    Follows{Collective::bcast, "binomial", "binomial", "binomial_rendezvous", "binomial_segmented"},
    Follows{Collective::scatter, "flat", "flat", "", "flat"},
    Follows{Collective::scatter, "chain", "chain_pipelined", "", ""},
    Follows{Collective::scatter, "binomial", "binomial", "", "binomial"},
    Follows{Collective::gather, "flat", "flat", "", "flat"},
    Follows{Collective::gather, "chain", "chain_pipelined", "", ""},
    Follows{Collective::gather, "binomial", "binomial", "", "binomial"},
    Follows{Collective::allgather, "recursive_doubling", "exchange", "", "exchange"},
    Follows{Collective::allgather, "concurrent_exchange", "concurrent_exchange", "", "concurrent_exchange"},
    Follows{Collective::allgather, "split_exchange", "split_exchange", "", "split_exchange"},
};

std::int64_t value_of(const Parameters& parameters, std::string_view wanted, std::int64_t otherwise) {
  for (const ParameterValue& p : parameters) {
    if (p.name == wanted) return p.value;
  }
  return otherwise;
}

}  // namespace

std::optional<double> closed_form_of(const Algorithm& algorithm, const Parameters& parameters, int ranks,
                                     std::int64_t bytes, const LinkClass& link) {
  ClosedFormCall call{ranks, bytes, value_of(parameters, "segment_bytes", value_of(parameters, "piece_bytes", 0))};
  call.concurrency = static_cast<int>(value_of(parameters, "concurrency", 2));
  for (const Follows& f : follows) {
    if (f.collective != algorithm.collective || f.algorithm != algorithm.name) continue;
    const bool cut = call.segment_bytes > 0 && call.segment_bytes < bytes;
    const std::string_view form = cut                                                 ? f.segmented
                                  : bytes > link.eager_bytes && !f.rendezvous.empty() ? f.rendezvous
                                                                                      : f.whole;
    const ClosedForm* found = find_closed_form(algorithm.collective, form);
    if (found == nullptr) return std::nullopt;
    return found->seconds(call, link);
  }
  return std::nullopt;
}

}  // namespace antiphon
