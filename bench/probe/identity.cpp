// SPDX-License-Identifier: Apache-2.0
#include <sched.h>
#include <unistd.h>

#include <cstring>
#include <set>

#include "antiphon/text.hpp"
#include "experiments.hpp"
#include "task.hpp"

namespace probe {

namespace {

/// Returns the text after a key in a file of lines `key: text`; empty if no line has it.
std::string value_of(const char* path, const char* key) {
  for (const std::string& line : antiphon::lines_of_file(path)) {
    const auto text = line.find_first_not_of("\t ", line.find(':') + 1);
    if (line.rfind(key, 0) == 0 && text != std::string::npos) return line.substr(text);
  }
  return {};
}

std::string cpu_model() {
  for (const char* key : {"model name", "Model", "Hardware", "CPU implementer"}) {
    if (auto found = value_of("/proc/cpuinfo", key); !found.empty()) return found;
  }
  return "unknown";
}

/// Returns everyone's text by rank on the root, and nothing elsewhere.
std::vector<std::string> gather_text(const World& world, std::string mine) {
  auto length = static_cast<int>(mine.size());
  MPI_Allreduce(MPI_IN_PLACE, &length, 1, MPI_INT, MPI_MAX, world.comm());
  mine.resize(static_cast<std::size_t>(length));
  std::string all(world.is_root() ? mine.size() * static_cast<std::size_t>(world.size()) : 0, '\0');
  MPI_Gather(mine.data(), length, MPI_CHAR, all.data(), length, MPI_CHAR, 0, world.comm());
  std::vector<std::string> texts;
  for (std::size_t r = 0; world.is_root() && r < static_cast<std::size_t>(world.size()); ++r)
    texts.emplace_back(all.substr(r * mine.size(), mine.size()).c_str());
  return texts;
}

/// Returns the CPUs that this process could be bound to, wherever it is bound now.
cpu_set_t usable_cpus() {
  cpu_set_t own, all, usable;
  if (::sched_getaffinity(0, sizeof own, &own) != 0) return cpu_set_t{};
  std::memset(&all, 0xff, sizeof all);
  // The kernel leaves of all CPUs those of the process's control group.
  if (::sched_setaffinity(0, sizeof all, &all) != 0) return own;
  if (::sched_getaffinity(0, sizeof usable, &usable) != 0) usable = own;
  ::sched_setaffinity(0, sizeof own, &own);
  return usable;
}

/// Returns how many cores these are: the threads of one are the same list for each of them.
int physical_cores() {
  const cpu_set_t usable = usable_cpus();
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &usable)) continue;
    const std::string number = std::to_string(cpu);
    const std::string path = "/sys/devices/system/cpu/cpu" + number + "/topology/thread_siblings_list";
    const std::string threads = antiphon::first_line_of(path);
    cores.insert(threads.empty() ? number : threads);
  }
  return static_cast<int>(cores.size());
}

double clock_resolution_ns() {
  double least = 1e9;
  for (int i = 0; i < 1000; ++i) {
    const double start = now_ns();
    double end = start;
    while (end == start) end = now_ns();
    least = std::min(least, end - start);
  }
  return least;
}

}  // namespace

/// Collects who takes part, for the profile's fingerprint; the topology is found without it.
void identify(World& world, const Task&) {
  char name[MPI_MAX_PROCESSOR_NAME] = {};
  int length = 0;
  MPI_Get_processor_name(name, &length);
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  MPI_Get_library_version(version, &length);
  const auto hosts = gather_text(world, name);
  const auto kernels = gather_text(world, antiphon::first_line_of("/proc/sys/kernel/random/boot_id"));
  const auto models = gather_text(world, cpu_model());
  const auto cores = gather_text(world, value_of("/proc/self/status", "Cpus_allowed_list"));
  int cores_of_least = physical_cores();
  MPI_Allreduce(MPI_IN_PLACE, &cores_of_least, 1, MPI_INT, MPI_MIN, world.comm());
  const auto core_now = gather_text(world, std::to_string(sched_getcpu()));
  if (!world.is_root()) return;
  print_line({{"event", "identity"},
              {"ranks", world.size()},
              {"library", std::string(version).substr(0, std::string(version).find('\n'))},
              {"hosts", hosts},
              {"kernels", kernels},
              {"cpu_models", models},
              {"allowed_cores", cores},
              {"core_now", core_now},
              {"physical_cores", cores_of_least},
              {"machine_cores", ::sysconf(_SC_NPROCESSORS_ONLN)},
              {"clock_resolution_ns", clock_resolution_ns()}});
}

}  // namespace probe
