// SPDX-License-Identifier: Apache-2.0
#include "entry/fate.hpp"

namespace antiphon::mpi {

std::string_view reason_of(Fate fate) {
  switch (fate) {
    case Fate::unseen:
    case Fate::done: return "";
    case Fate::foreign: return "one rank alone, an intercommunicator, or processes of another job";
    case Fate::short_exchange: return "short: the ranks have seen that it is not worth a schedule";
    case Fate::few_neighbours: return "each rank has few neighbours, who contend little";
    case Fate::same_neighbours: return "a rank has a neighbour twice, so blocks cannot be told apart";
    case Fate::not_schedulable: return "arguments that only the library can judge";
    case Fate::library_chosen: return "asked for: by --force, a communicator's info, or the program";
    case Fate::gaps: return "elements with gaps, which the chosen algorithm cannot move";
    case Fate::device_memory: return "buffers in a GPU's memory";
    case Fate::no_communicator: return "no communicator of Antiphon's own beside this one";
    case Fate::no_progress: return "this MPI library has no hook by which nonblocking schedules could advance";
    case Fate::waits_first: return "nonblocking, and ranks would have to wait for each other first";
    case Fate::unsolvable: return "the chosen algorithm does not work for this call";
  }
  return "";
}

}  // namespace antiphon::mpi
