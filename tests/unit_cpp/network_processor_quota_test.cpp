// SPDX-License-Identifier: Apache-2.0
// Checks that limits of processor time are found, as systems and containers write them down.
#include "network/processor_quota.hpp"

#include <doctest/doctest.h>

#include <string>

#include "network_root.hpp"

namespace network = antiphon::network;
using network::ProcessorQuota;

namespace {

constexpr const char* second_version = "30 23 0:26 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr const char* first_version =
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:15 - cgroup cgroup rw,cpu,cpuacct\n"
    "33 31 0:30 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n";

double cores(const char* groups, const char* mounts, const network::Root& root) {
  const auto found = ProcessorQuota::find(groups, mounts, root.path);
  return found ? found->cores() : 0;
}

}  // namespace

TEST_CASE("the tightest limit above a group counts, in the second version of control groups") {
  const network::Root root;
  root.put("/sys/fs/cgroup/pod/cpu.max", "150000 100000");
  root.put("/sys/fs/cgroup/pod/ranks/cpu.max", "max 100000");
  root.put("/sys/fs/cgroup/pod/cpu.stat", "usage_usec 12\nnr_periods 70\nnr_throttled 7\nthrottled_usec 4");
  const auto found = ProcessorQuota::find("0::/pod/ranks\n", second_version, root.path);
  REQUIRE(found);
  CHECK(found->cores() == doctest::Approx(1.5));
  CHECK(found->stopped_periods() == 7);
  root.put("/sys/fs/cgroup/pod/ranks/cpu.max", "20000 100000");
  CHECK(cores("0::/pod/ranks\n", second_version, root) == doctest::Approx(0.2));
  CHECK(cores("0::/\n", second_version, root) == 0);
}

TEST_CASE("in the first version, groups of processor time are found among the others") {
  const network::Root root;
  constexpr const char* folder = "/sys/fs/cgroup/cpu,cpuacct/docker/1f/";
  root.put(std::string(folder) + "cpu.cfs_quota_us", "-1");
  root.put(std::string(folder) + "cpu.cfs_period_us", "100000");
  constexpr const char* groups = "4:cpuset:/\n3:cpu,cpuacct:/docker/1f\n0::/\n";
  CHECK(cores(groups, first_version, root) == 0);
  root.put(std::string(folder) + "cpu.cfs_quota_us", "200000");
  CHECK(cores(groups, first_version, root) == doctest::Approx(2));
  CHECK(ProcessorQuota::find(groups, first_version, root.path)->stopped_periods() == 0);
}

TEST_CASE("in a container the files begin at its own group") {
  const network::Root root;
  root.put("/sys/fs/cgroup/cpu.max", "50000 100000");
  constexpr const char* mounts = "9 8 0:26 /docker/1f /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
  for (const char* groups : {"0::/docker/1f\n", "0::/\n", "0::/../2e\n"}) {
    CAPTURE(groups);
    CHECK(cores(groups, mounts, root) == doctest::Approx(0.5));
  }
}

TEST_CASE("what is not there or damaged is no limit") {
  const network::Root root;
  CHECK(cores("", "", root) == 0);
  CHECK(cores("0::/a\n", "x - cgroup2\n- - -\n", root) == 0);
  root.put("/sys/fs/cgroup/cpu.max", "much 100000");
  CHECK(cores("0::\n0\n", second_version, root) == 0);
  root.put("/sys/fs/cgroup/cpu.max", "100000 0");
  CHECK(cores("0::/\n", second_version, root) == 0);
}
