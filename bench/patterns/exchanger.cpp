// SPDX-License-Identifier: Apache-2.0
#include "exchanger.hpp"

#include <dlfcn.h>

#include <array>

#include "../collectives/library.hpp"
#include "../collectives/options.hpp"
#include "antiphon.h"
#include "antiphon/error.hpp"
#include "antiphon/text.hpp"
#include "run/executor.hpp"

namespace bench {

const char* const contender_usage =
    "  library                    the library's MPI_Alltoallv\n"
    "  point-to-point             MPI_Irecv from all, MPI_Isend to all, MPI_Waitall: unscheduled\n"
    "  antiphon[:ALGORITHM…]      MPI_Alltoallv under Antiphon: its own choice, or what antiphon_force takes\n"
    "  phases[:SCHEDULER[:SYNCHRONISATION[:PIECE[:WINDOW]]]]   phases known to all: level 3, run by this program;\n"
    "                             SCHEDULER `best` (default) chooses; SYNCHRONISATION `best` or none, tokens, grants, "
    "barrier\n"
    "  persistent[:library]       MPI_Alltoallv_init once, then MPI_Start and MPI_Wait\n"
    "  level1, level2, level3     the C API's levels of knowledge (paper 1, section 4)\n";

namespace {

using antiphon::CompiledPattern;

class Library : public Exchanger {
 public:
  Library(Exchange& exchange, MPI_Comm comm) : e_(exchange), comm_(comm) {}
  void call() override {
    LIBRARY(PMPI_Alltoallv)(e_.input.data(), e_.send_counts.data(), e_.send_offsets.data(), MPI_BYTE, e_.output.data(),
                            e_.recv_counts.data(), e_.recv_offsets.data(), MPI_BYTE, comm_);
  }
  [[nodiscard]] std::string chosen() const override { return "library"; }

 protected:
  Exchange& e_;
  MPI_Comm comm_;
};

class Preloaded : public Library {
 public:
  Preloaded(Exchange& exchange, MPI_Comm comm, const std::string& choice) : Library(exchange, comm) {
    if (antiphon_force(comm, "alltoallv", choice.c_str()) == ANTIPHON_BAD_NAME)
      throw UsageError("alltoallv has no algorithm " + choice);
  }
  void call() override {
    MPI_Alltoallv(e_.input.data(), e_.send_counts.data(), e_.send_offsets.data(), MPI_BYTE, e_.output.data(),
                  e_.recv_counts.data(), e_.recv_offsets.data(), MPI_BYTE, comm_);
  }
  [[nodiscard]] std::string chosen() const override {
    char text[256] = "library";
    antiphon_chosen(comm_, "alltoallv", text, sizeof text);
    return text;
  }
};

class PointToPoint : public Exchanger {
 public:
  PointToPoint(Exchange& exchange, MPI_Comm comm) : e_(exchange), comm_(comm) {
    requests_.reserve(2 * e_.send_counts.size());
  }
  void call() override {
    requests_.clear();
    const auto size = e_.send_counts.size();
    for (std::size_t i = 0; i < size; ++i) {
      if (e_.recv_counts[i] > 0)
        LIBRARY(PMPI_Irecv)(e_.output.data() + e_.recv_offsets[i], e_.recv_counts[i], MPI_BYTE, static_cast<int>(i), 0,
                            comm_, add());
    }
    for (std::size_t i = 0; i < size; ++i) {
      if (e_.send_counts[i] > 0)
        LIBRARY(PMPI_Isend)(e_.input.data() + e_.send_offsets[i], e_.send_counts[i], MPI_BYTE, static_cast<int>(i), 0,
                            comm_, add());
    }
    LIBRARY(PMPI_Waitall)(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
  }
  [[nodiscard]] std::string chosen() const override { return "point-to-point"; }

 private:
  /// The constructor reserves room for all requests, so pointers stay valid.
  MPI_Request* add() { return &requests_.emplace_back(MPI_REQUEST_NULL); }
  Exchange& e_;
  MPI_Comm comm_;
  std::vector<MPI_Request> requests_;
};

/// Level 3, run by this program: the phases exist before the first call.
class InPhases : public Exchanger {
 public:
  InPhases(Exchange& exchange, const Setting& setting, const std::vector<std::string>& words)
      : compiled_(compile(exchange.pattern, setting.fabric, words)),
        executor_(antiphon::schedule_of(compiled_, exchange.problem), setting.comm,
                  {.yields = setting.yield ? antiphon::mpi::Yields::here : antiphon::mpi::Yields::nobody}),
        scratch_(static_cast<std::size_t>(executor_.scratch_bytes()) + 1) {
    const auto bytes = [](std::vector<unsigned char>& data) { return reinterpret_cast<std::byte*>(data.data()); };
    binding_.base = {bytes(exchange.input), bytes(exchange.output), bytes(scratch_)};
  }
  void call() override {
    if (executor_.run(binding_) != MPI_SUCCESS) throw std::runtime_error("a schedule of phases failed");
  }
  [[nodiscard]] std::string chosen() const override {
    return compiled_.phases.scheduler + ":" + std::string(name(compiled_.synchronisation)) + ":" +
           std::to_string(compiled_.cut.piece_bytes) + ":" + std::to_string(compiled_.cut.window) + ", " +
           std::to_string(compiled_.phases.phases.size()) + " phases";
  }

 private:
  static CompiledPattern compile(const antiphon::Pattern& pattern, const antiphon::Fabric& fabric,
                                 const std::vector<std::string>& words) {
    CompiledPattern compiled = antiphon::compile_pattern(pattern, fabric);
    if (!words.empty() && words[0] != "best") {
      const antiphon::Scheduler* scheduler = antiphon::find_scheduler(words[0]);
      if (scheduler == nullptr) throw UsageError("no scheduler named " + words[0]);
      compiled.phases = scheduler->build(pattern, fabric, antiphon::small_threshold(pattern, fabric));
    }
    if (words.size() > 1 && words[1] != "best") {
      const auto synchronisation = antiphon::synchronisation_from_name(words[1]);
      if (!synchronisation) throw UsageError("no synchronisation named " + words[1]);
      compiled.synchronisation = *synchronisation;
    }
    if (words.size() > 2) compiled.cut.piece_bytes = std::stoll(words[2]);
    if (words.size() > 3) compiled.cut.window = std::stoi(words[3]);
    return compiled;
  }

  CompiledPattern compiled_;
  antiphon::mpi::Executor executor_;
  std::vector<unsigned char> scratch_;
  antiphon::mpi::Binding binding_;
};

/// MPI 4's persistent collective. It is looked up at run time because older libraries lack it.
class Persistent : public Exchanger {
 public:
  using Init = int (*)(const void*, const int*, const int*, MPI_Datatype, void*, const int*, const int*, MPI_Datatype,
                       MPI_Comm, MPI_Info, MPI_Request*);
  using Start = int (*)(MPI_Request*);
  using Wait = int (*)(MPI_Request*, MPI_Status*);
  struct Functions {
    Init init;
    Start start;
    Wait wait;
  };

  static Functions find(bool library) {
    const std::string prefix = library ? "PMPI_" : "MPI_";
    const auto function = [&](const char* name) { return dlsym(RTLD_DEFAULT, (prefix + name).c_str()); };
    return {reinterpret_cast<Init>(function("Alltoallv_init")), reinterpret_cast<Start>(function("Start")),
            reinterpret_cast<Wait>(function("Wait"))};
  }

  Persistent(Exchange& e, MPI_Comm comm, const Functions& functions) : functions_(functions) {
    functions_.init(e.input.data(), e.send_counts.data(), e.send_offsets.data(), MPI_BYTE, e.output.data(),
                    e.recv_counts.data(), e.recv_offsets.data(), MPI_BYTE, comm, MPI_INFO_NULL, &request_);
  }
  ~Persistent() override { MPI_Request_free(&request_); }
  void call() override {
    functions_.start(&request_);
    functions_.wait(&request_, MPI_STATUS_IGNORE);
  }
  [[nodiscard]] std::string chosen() const override { return "persistent"; }

 private:
  Functions functions_;
  MPI_Request request_ = MPI_REQUEST_NULL;
};

std::unique_ptr<Exchanger> make_persistent(const std::vector<std::string>& words, Exchange& exchange, MPI_Comm comm) {
  const bool library = words.size() > 1 && words[1] == "library";
  const Persistent::Functions functions = Persistent::find(library);
  if (functions.init == nullptr) return nullptr;
  return std::make_unique<Persistent>(exchange, comm, functions);
}

}  // namespace

std::unique_ptr<Exchanger> make_exchanger(const std::string& text, Exchange& exchange, const Setting& setting) {
  const std::vector<std::string> words = antiphon::split(text, ':');
  const std::string kind = words.empty() ? "" : words[0];
  if (kind == "library") return std::make_unique<Library>(exchange, setting.comm);
  if (kind == "point-to-point") return std::make_unique<PointToPoint>(exchange, setting.comm);
  if (kind == "persistent") return make_persistent(words, exchange, setting.comm);
  if (kind == "phases")
    return std::make_unique<InPhases>(exchange, setting, std::vector(words.begin() + 1, words.end()));
  if (kind == "level1" || kind == "level2" || kind == "level3") return make_level(kind.back() - '0', exchange, setting);
  if (kind == "antiphon") {
    if (antiphon_version() == 0) return nullptr;
    return std::make_unique<Preloaded>(exchange, setting.comm,
                                       words.size() == 1 ? "auto" : text.substr(kind.size() + 1));
  }
  throw UsageError("no contender named " + text);
}

}  // namespace bench
