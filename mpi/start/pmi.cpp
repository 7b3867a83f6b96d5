// SPDX-License-Identifier: Apache-2.0
// Speaks PMI-1 over the socket that Hydra gives each process: lines of "cmd=… key=value …". MPICH keeps its own PMI to
// itself, but it uses the socket only inside its calls, and it can share it.
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>

#include "start/job_data.hpp"

namespace antiphon::mpi {

namespace pmi {
namespace {

constexpr int patience_ms = 10000;
int fd = -1;
int rank = -1;
std::string space;  ///< the name of this job's store
bool left = false;

int number(const char* variable) {
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return -1;
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  return *end == '\0' && value >= 0 && value < 1 << 30 ? static_cast<int>(value) : -1;
}

/// Repeats a system call that the program's signals interrupt.
template <class SystemCall>
auto unbroken(SystemCall&& call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

/// Sends a command and returns the answer, or "" if none comes.
std::string ask(const std::string& command) {
  const std::string line = command + "\n";
  const ssize_t sent = unbroken([&] { return send(fd, line.data(), line.size(), MSG_NOSIGNAL); });
  if (sent != static_cast<ssize_t>(line.size())) return "";
  std::string answer;
  while (answer.empty() || answer.back() != '\n') {
    char part[1024];
    pollfd readable{fd, POLLIN, 0};
    if (unbroken([&] { return poll(&readable, 1, patience_ms); }) != 1) return "";
    const ssize_t got = unbroken([&] { return recv(fd, part, sizeof part, 0); });
    if (got <= 0) return "";
    answer.append(part, static_cast<std::size_t>(got));
  }
  answer.pop_back();
  return answer;
}

std::string field(const std::string& answer, const std::string& name) {
  const std::size_t at = (" " + answer).find(" " + name + "=");
  if (at == std::string::npos) return "";
  const std::size_t start = at + name.size() + 1;
  return answer.substr(start, answer.find(' ', start) - start);
}

/// Hydra tells how many ranks a node has. Others may give a PMI-1 socket but then speak PMI-2 with the library.
bool is_hydra() {
  const char* version = std::getenv("MPIR_CVAR_PMI_VERSION");
  return std::getenv("MPI_LOCALNRANKS") != nullptr && (version == nullptr || std::string(version) == "1");
}

std::string key_of(int of) { return "antiphon-" + std::to_string(of); }

void before_init(const std::string& text) {
  fd = number("PMI_FD");
  rank = number("PMI_RANK");
  if (fd < 0 || rank < 0 || !is_hydra()) return;
  if (field(ask("cmd=init pmi_version=1 pmi_subversion=1"), "rc") != "0") return;
  space = field(ask("cmd=get_my_kvsname"), "kvsname");
  if (space.empty()) return;
  left = field(ask("cmd=put kvsname=" + space + " key=" + key_of(rank) + " value=" + text), "rc") == "0";
}

std::optional<int> own_rank() { return left ? std::optional<int>(rank) : std::nullopt; }

std::string text_of(int of) {
  const std::string answer = ask("cmd=get kvsname=" + space + " key=" + key_of(of));
  return field(answer, "rc") == "0" ? field(answer, "value") : "";
}

}  // namespace
}  // namespace pmi

const JobData pmi_data{pmi::before_init, pmi::own_rank, pmi::text_of};

}  // namespace antiphon::mpi
