// SPDX-License-Identifier: Apache-2.0
#include "observe/summary_rows.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "call/call.hpp"
#include "observe/merge.hpp"

namespace antiphon::mpi::summary {

namespace {

/// Returns the number of the class: −1 for unknown sizes, 0 for no bytes and sizes without a class, else classes end at
/// 1, 2, 4, 8, … bytes.
int class_of(int kind, std::int64_t bytes) {
  if (bytes <= 0 || !has_equal_blocks(kind)) return bytes < 0 ? -1 : 0;
  return 1 + static_cast<int>(std::bit_width(static_cast<std::uint64_t>(bytes - 1)));
}

constexpr auto identity = {"collective", "size_class", "used", "reason"};

void add(Json& row, const Json& other, const char* key) {
  if (row.at(key).is_integer()) row[key] = row.at(key).get<std::int64_t>() + other.at(key).get<std::int64_t>();
  else row[key] = row.at(key).get<double>() + other.at(key).get<double>();
}

/// Adds the row of another rank to that of this one.
void merge_row(Json& row, const Json& other) {
  for (const char* key : {"rank_calls", "bytes", "time_s", "compared_calls", "compared_s", "waiting_s"})
    add(row, other, key);
  for (const char* key : {"calls", "most_bytes", "most_ranks"})
    row[key] = std::max(row.at(key).get<std::int64_t>(), other.at(key).get<std::int64_t>());
  for (const char* key : {"least_bytes", "least_ranks"})
    row[key] = std::min(row.at(key).get<std::int64_t>(), other.at(key).get<std::int64_t>());
  row["max_time_s"] = std::max(row.at("max_time_s").get<double>(), other.at("max_time_s").get<double>());
}

bool same_row(const Json& a, const Json& b) {
  return std::all_of(identity.begin(), identity.end(), [&](const char* key) { return a.at(key) == b.at(key); });
}

/// Adds the rows of another rank to those of this one.
Json merge_rows(const Json& rows, const Json& others) {
  std::vector<Json> merged(rows.begin(), rows.end());
  for (const Json& other : others) {
    const auto known =
        std::find_if(merged.begin(), merged.end(), [&](const Json& row) { return same_row(row, other); });
    if (known != merged.end()) merge_row(*known, other);
    else merged.push_back(other);
  }
  return merged;
}

/// Turns sums over ranks into what the document says: times are means over ranks. Waiting is known of the calls whose
/// arrivals were compared, and taken to be the same part of the others.
Json finished(const Json& row, int ranks, double run_s) {
  const double time_s = row.at("time_s").get<double>() / ranks;
  const double compared_s = row.at("compared_s").get<double>();
  Json done;
  done["collective"] = row.at("collective");
  const bool sized = row.at("most_bytes").get<std::int64_t>() >= 0;
  for (const char* key : {"least_bytes", "most_bytes"}) done[key] = sized ? row.at(key) : Json();
  for (const char* key : {"least_ranks", "most_ranks", "calls", "rank_calls", "bytes"}) done[key] = row.at(key);
  done["time_s"] = time_s;
  done["max_time_s"] = row.at("max_time_s");
  done["share"] = run_s > 0 ? Json(time_s / run_s) : Json();
  const bool known = row.at("compared_calls").get<std::int64_t>() > 0;
  const double part = compared_s > 0 ? row.at("waiting_s").get<double>() / compared_s : 0;
  done["waiting_s"] = known ? Json(time_s * part) : Json();
  done["moving_s"] = known ? Json(time_s * (1 - part)) : Json();
  done["compared_calls"] = row.at("compared_calls");
  done["algorithm"] = row.at("used");
  done["reason"] = row.at("reason").as_string().empty() ? Json() : row.at("reason");
  return done;
}

}  // namespace

Rows::Row& Rows::find(const CountedCall& call) {
  const int size_class = class_of(call.kind, call.block_bytes);
  const auto fits = [&](const Row& row) {
    return row.kind == call.kind && row.size_class == size_class && row.used == call.used && row.reason == call.reason;
  };
  if (last_ < rows_.size() && fits(rows_[last_])) return rows_[last_];
  const auto known = std::find_if(rows_.begin(), rows_.end(), fits);
  last_ = static_cast<std::size_t>(known - rows_.begin());
  if (known != rows_.end()) return *known;
  rows_.push_back({call.kind, size_class, std::string(call.used), std::string(call.reason)});
  return rows_.back();
}

void Rows::count(const CountedCall& call) {
  Row& row = find(call);
  ++row.calls;
  row.bytes += call.bytes;
  row.least_bytes = std::min(row.least_bytes, call.block_bytes);
  row.most_bytes = std::max(row.most_bytes, call.block_bytes);
  row.least_ranks = std::min(row.least_ranks, call.ranks);
  row.most_ranks = std::max(row.most_ranks, call.ranks);
  row.time_s += call.ended_s - call.began_s;
  if (call.name != 0) row.arrivals.add({call.name, call.began_s, call.ended_s, call.ranks});
}

Json Rows::own(const ClockScale& clock, MPI_Comm comm) const {
  std::vector<const Arrivals*> sorts;
  for (const Row& row : rows_) sorts.push_back(&row.arrivals);
  const std::vector<Waited> waited = compare_arrivals(sorts, clock, comm);
  auto list = Json::array();
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    const Row& row = rows_[i];
    list.push_back({{"collective", kind_name(row.kind)},
                    {"size_class", row.size_class},
                    {"used", row.used},
                    {"reason", row.reason},
                    {"calls", row.calls},
                    {"rank_calls", row.calls},
                    {"bytes", row.bytes},
                    {"least_bytes", row.least_bytes},
                    {"most_bytes", row.size_class < 0 ? unknown_bytes : row.most_bytes},
                    {"least_ranks", row.least_ranks},
                    {"most_ranks", row.most_ranks},
                    {"time_s", row.time_s},
                    {"max_time_s", row.time_s},
                    {"compared_calls", waited[i].calls},
                    {"compared_s", waited[i].time_s},
                    {"waiting_s", waited[i].waiting_s}});
  }
  return list;
}

Json Rows::of_all_ranks(double run_s, const ClockScale& clock, MPI_Comm comm) const {
  int ranks = 1;
  PMPI_Comm_size(comm, &ranks);
  const Json all = merge_over_ranks(own(clock, comm), merge_rows, comm);
  std::vector<Json> list;
  for (const Json& row : all) list.push_back(finished(row, ranks, run_s));
  std::stable_sort(list.begin(), list.end(), [](const Json& a, const Json& b) {
    return a.at("time_s").get<double>() > b.at("time_s").get<double>();
  });
  return list;
}

}  // namespace antiphon::mpi::summary
