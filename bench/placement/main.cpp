// SPDX-License-Identifier: Apache-2.0
/// Times calls under several placements of the ranks, which alternate in one run: rank i of a communicator is the
/// process on the slot that a launcher would have given to rank i.
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "../collectives/library.hpp"
#include "../collectives/measure.hpp"
#include "../collectives/report.hpp"
#include "antiphon.h"
#include "json/json.hpp"

using antiphon::Json;

namespace {

const char* const usage =
    "usage: mpirun … antiphon-placements PLAN.json        (normally started by bench/placement/collectives.py)\n"
    "PLAN: {\"cells\": [{\"name\": …, \"steps\": [STEP…], \"ways\": [WAY…]}…], \"budget_s\": of a cell, "
    "\"deadline_s\": of all, \"rest\": true or false}\n"
    "STEP: {\"collective\": …, \"bytes\": …, \"root\": 0, \"over\": \"all\", \"rows\" or \"columns\", \"width\": of a "
    "row}, or\n"
    "      {\"shift\": by so many ranks, \"bytes\": …}\n"
    "WAY:  {\"name\": …, \"ranks\": [of MPI_COMM_WORLD, in the new order], \"choices\": [what antiphon_force takes, of "
    "each step]}\n"
    "rest: whoever is done with a call sleeps until all are, and so takes no core from the others by its next "
    "barrier.\n"
    "Prints a JSON object a cell: the slowest rank's time of all steps, one sample after a barrier each.\n";

/// How often waiting ranks look: rarely, so that they do not disturb the ranks that measure.
constexpr std::chrono::milliseconds waits{2}, rests{10};

constexpr int calls_a_turn = 3, least_rounds = 3, most_rounds = 40;

template <typename T>
std::vector<T> list_of(const Json& array) {
  std::vector<T> list;
  for (const Json& element : array) list.push_back(element.get<T>());
  return list;
}

/// Waits without using the processor.
void sleep_until_all_are_here(MPI_Comm comm, std::chrono::milliseconds interval) {
  MPI_Request all_here = MPI_REQUEST_NULL;
  LIBRARY(PMPI_Ibarrier)(comm, &all_here);
  for (int done = 0; done == 0;) {
    std::this_thread::sleep_for(interval);
    LIBRARY(PMPI_Test)(&all_here, &done, MPI_STATUS_IGNORE);
  }
}

/// A group of ranks in some order, and communicators made from it.
class Arrangement {
 public:
  Arrangement(const std::vector<int>& ranks, MPI_Comm world) {
    MPI_Group all, chosen;
    PMPI_Comm_group(world, &all);
    PMPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &chosen);
    MPI_Comm_create(world, chosen, &comm_);
    PMPI_Group_free(&all);
    PMPI_Group_free(&chosen);
    if (!member()) return;
    PMPI_Comm_rank(comm_, &rank_);
    PMPI_Comm_size(comm_, &size_);
    stopwatch_ = std::make_unique<bench::Stopwatch>(comm_);
  }

  [[nodiscard]] bool member() const { return comm_ != MPI_COMM_NULL; }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] bench::Stopwatch& stopwatch() { return *stopwatch_; }

  /// Returns this rank's times of `calls` calls, each after a barrier that starts all ranks together. The first call
  /// does not count.
  std::vector<double> rested(const bench::TimedFunction& call, int calls) {
    std::vector<double> samples;
    for (int i = 0; i <= calls; ++i) {
      sleep_until_all_are_here(comm_, rests);
      LIBRARY(PMPI_Barrier)(comm_);
      const double start_s = PMPI_Wtime();
      call();
      samples.push_back(PMPI_Wtime() - start_s);
    }
    samples.erase(samples.begin());
    return samples;
  }

  /// The communicator for a step's calls, with its algorithm forced if one is named.
  MPI_Comm comm(const Json& step, const std::string& choice) {
    const auto over = step.value("over", std::string("all")), collective = step.value("collective", std::string());
    const int width = step.value("width", 1);
    auto [found, fresh] = parts_.try_emplace(over + std::to_string(width) + collective + choice, MPI_COMM_NULL);
    if (fresh) {
      MPI_Comm_split(comm_,
                     over == "rows"      ? rank_ / width
                     : over == "columns" ? rank_ % width
                                         : 0,
                     rank_, &found->second);
      if (!choice.empty()) antiphon_force(found->second, collective.c_str(), choice.c_str());
    }
    return found->second;
  }

 private:
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 0;
  std::unique_ptr<bench::Stopwatch> stopwatch_;
  std::map<std::string, MPI_Comm> parts_;
};

/// One call of a cell, with its buffers.
class Step {
 public:
  Step(const Json& step, const std::string& choice, Arrangement& where)
      : shift_(step.value("shift", 0)), bytes_(step.value("bytes", 0)) {
    comm_ = where.comm(step, choice);
    if (shift_ == 0) {
      work_ = std::make_unique<bench::Workload>(step.at("collective").get<std::string>(), bytes_, step.value("root", 0),
                                                bench::Manner{}, comm_);
      return;
    }
    to_ = (where.rank() + shift_) % where.size();
    from_ = (where.rank() - shift_ + where.size()) % where.size();
    buffer_.resize(2 * static_cast<std::size_t>(bytes_));
  }

  void call() {
    if (work_) {
      work_->call(comm_);
    } else {
      MPI_Sendrecv(buffer_.data(), bytes_, MPI_BYTE, to_, 0, buffer_.data() + bytes_, bytes_, MPI_BYTE, from_, 0, comm_,
                   MPI_STATUS_IGNORE);
    }
  }

  /// Calls once and counts wrong bytes of the result.
  std::int64_t check() {
    if (work_) work_->prepare();
    call();
    return work_ ? work_->wrong_elements() : 0;
  }

 private:
  int shift_, bytes_, to_ = 0, from_ = 0;
  MPI_Comm comm_;
  std::unique_ptr<bench::Workload> work_;
  std::vector<char> buffer_;
};

class Session {
 public:
  Session(Json plan, MPI_Comm world) : plan_(std::move(plan)), world_(world) { PMPI_Comm_rank(world, &rank_); }

  int run() {
    const double start_s = PMPI_Wtime();
    for (const Json& cell : plan_.at("cells")) {
      if (agreed(PMPI_Wtime() - start_s > plan_.value("deadline_s", 1e9))) break;
      if (!run_cell(cell)) return 1;
    }
    return 0;
  }

 private:
  /// Returns rank 0's value on all ranks.
  bool agreed(bool mine) {
    int value = mine ? 1 : 0;
    LIBRARY(PMPI_Bcast)(&value, 1, MPI_INT, 0, world_);
    return value != 0;
  }

  /// Ranks that take no part in a turn wait without using the processor.
  void meet(bool took_part) {
    if (!took_part) {
      sleep_until_all_are_here(world_, waits);
      return;
    }
    MPI_Request all_here = MPI_REQUEST_NULL;
    LIBRARY(PMPI_Ibarrier)(world_, &all_here);
    LIBRARY(PMPI_Wait)(&all_here, MPI_STATUS_IGNORE);
  }

  Arrangement& arrangement(const Json& way) {
    const auto ranks = list_of<int>(way.at("ranks"));
    auto& known = arrangements_[ranks];
    if (!known) known = std::make_unique<Arrangement>(ranks, world_);
    return *known;
  }

  struct Entrant {
    Arrangement* where;
    std::vector<Step> steps;
    std::vector<double> samples;
  };

  bool run_cell(const Json& cell) {
    std::vector<Entrant> entrants;
    std::int64_t wrong = 0;
    for (const Json& way : cell.at("ways")) {
      Entrant entrant{&arrangement(way), {}, {}};
      if (entrant.where->member()) {
        const Json& steps = cell.at("steps");
        const Json* named = way.find("choices");
        const auto choices = named != nullptr ? list_of<std::string>(*named) : std::vector<std::string>(steps.size());
        for (std::size_t i = 0; i < steps.size(); ++i)
          entrant.steps.emplace_back(steps.at(i), choices.at(i), *entrant.where);
        for (Step& step : entrant.steps) wrong += step.check();
      }
      meet(entrant.where->member());
      entrants.push_back(std::move(entrant));
    }
    LIBRARY(PMPI_Allreduce)(MPI_IN_PLACE, &wrong, 1, MPI_INT64_T, MPI_SUM, world_);
    if (wrong != 0) {
      if (rank_ == 0)
        std::fprintf(stderr, "error: %s: %lld wrong elements\n", cell.at("name").get<std::string>().c_str(),
                     static_cast<long long>(wrong));
      return false;
    }
    measure(entrants);
    if (rank_ == 0) print(cell, entrants);
    return true;
  }

  void measure(std::vector<Entrant>& entrants) {
    const double start_s = PMPI_Wtime(), budget_s = plan_.value("budget_s", 3.0);
    for (std::size_t round = 0; round < most_rounds; ++round) {
      const double spent_s = PMPI_Wtime() - start_s;
      if (agreed(round >= least_rounds &&
                 spent_s * static_cast<double>(round + 1) > budget_s * static_cast<double>(round)))
        break;
      // Each round starts with another arrangement.
      for (std::size_t i = 0; i < entrants.size(); ++i) turn(entrants[(i + round) % entrants.size()]);
    }
  }

  void turn(Entrant& entrant) {
    std::vector<double> samples(calls_a_turn);
    const auto call = [&] {
      for (Step& step : entrant.steps) step.call();
    };
    if (entrant.where->member() && plan_.value("rest", false)) {
      samples = entrant.where->rested(call, calls_a_turn);
    } else if (entrant.where->member()) {
      samples = entrant.where->stopwatch().turn({bench::Mode::sync, calls_a_turn}, call);
    }
    meet(entrant.where->member());
    LIBRARY(PMPI_Allreduce)(MPI_IN_PLACE, samples.data(), calls_a_turn, MPI_DOUBLE, MPI_MAX, world_);
    entrant.samples.insert(entrant.samples.end(), samples.begin(), samples.end());
  }

  static void print(const Json& cell, const std::vector<Entrant>& entrants) {
    Json seconds = Json::object();
    for (std::size_t i = 0; i < entrants.size(); ++i)
      seconds[cell.at("ways").at(i).at("name").get<std::string>()] = entrants[i].samples;
    bench::print_line({{"name", cell.at("name")}, {"seconds", seconds}});
  }

  Json plan_;
  MPI_Comm world_;
  int rank_ = 0;
  std::map<std::vector<int>, std::unique_ptr<Arrangement>> arrangements_;
};

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int code = 2;
  try {
    std::ifstream file(argc == 2 ? argv[1] : "");
    if (file) {
      code = Session(Json::parse(std::string(std::istreambuf_iterator<char>(file), {})), MPI_COMM_WORLD).run();
    } else {
      std::fputs(usage, stderr);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
    PMPI_Abort(MPI_COMM_WORLD, 1);
  }
  MPI_Finalize();
  return code;
}
