// SPDX-License-Identifier: Apache-2.0
#include "stage.hpp"

#include <chrono>
#include <thread>

#include "library.hpp"
#include "library_algorithms.hpp"

namespace bench {

Stage::Stage(MPI_Comm world, int ranks) : ranks_(ranks) {
  int rank = 0;
  PMPI_Comm_rank(world, &rank);
  PMPI_Comm_split(world, rank < ranks ? 0 : MPI_UNDEFINED, rank, &comm_);
  if (!member()) return;
  PMPI_Comm_dup(comm_, &library_);
  stopwatch_ = std::make_unique<Stopwatch>(comm_);
}

Stage::~Stage() {
  for (auto& [name, comm] : forced_) MPI_Comm_free(&comm);
  free_slots();
  stopwatch_.reset();
  if (!member()) return;
  PMPI_Comm_free(&library_);
  PMPI_Comm_free(&comm_);
}

void Stage::free_slots() {
  for (MPI_Comm& comm : slots_) MPI_Comm_free(&comm);
  slots_.clear();
}

MPI_Comm Stage::duplicate() {
  MPI_Comm comm = MPI_COMM_NULL;
  MPI_Comm_dup(comm_, &comm);
  return comm;
}

Way Stage::way_of(const Contender& contender, std::size_t slot) {
  const std::string algorithm = contender.library_algorithm();
  if (algorithm.empty()) {
    while (slots_.size() <= slot) slots_.push_back(duplicate());
    return {slots_[slot], "", contender.blocking()};
  }
  const std::string key = contender.collective + ":" + algorithm;
  const auto known = forced_.find(key);
  if (known == forced_.end()) {
    const LibraryForcing forcing(contender.collective, algorithm);
    forced_[key] = duplicate();
  }
  return {forced_[key], LibraryForcing::at_each_call() ? algorithm : ""};
}

void Stage::meet(MPI_Comm world) const {
  MPI_Request all_here = MPI_REQUEST_NULL;
  LIBRARY(PMPI_Ibarrier)(world, &all_here);
  if (member()) {
    LIBRARY(PMPI_Wait)(&all_here, MPI_STATUS_IGNORE);
    return;
  }
  for (int done = 0; done == 0;) {
    LIBRARY(PMPI_Test)(&all_here, &done, MPI_STATUS_IGNORE);
    if (done == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace bench
