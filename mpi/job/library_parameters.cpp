// SPDX-License-Identifier: Apache-2.0
#include "job/library_parameters.hpp"

#include <string>

#include "job/environment.hpp"
#include "job/library_traits.hpp"
#include "job/limited_time.hpp"
#include "job/long_messages.hpp"

namespace antiphon::mpi {

namespace {

std::vector<Fact> done;

/// Returns the user's variable that switches this off, or nothing.
std::string switched_off_by() {
  constexpr const char* name = "ANTIPHON_LIBRARY_PARAMETERS";
  return variable(name) == "off" ? name : "";
}

}  // namespace

const std::vector<Fact>& library_parameters() { return done; }

void set_parameters_before_init() {
  if (!is_switched_off() && library_name() == "openmpi") done.push_back(send_long_messages_at_once(switched_off_by()));
}

void unset_parameters_after_init() { forget_long_messages(); }

void set_ways_to_wait(const Crowd& crowd) {
  if (const auto fact = share_cores(crowd, switched_off_by())) done.push_back(*fact);
  if (const auto fact = limited_time::start(switched_off_by())) done.push_back(*fact);
}

}  // namespace antiphon::mpi
