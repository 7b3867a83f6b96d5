// SPDX-License-Identifier: Apache-2.0
#include "job/warn.hpp"

#include <chrono>
#include <cstdio>
#include <thread>

namespace antiphon::mpi {

void warn(const std::string& message) { std::fprintf(stderr, "antiphon: %s\n", message.c_str()); }

void let_launcher_read() { std::this_thread::sleep_for(std::chrono::milliseconds(300)); }

void warn_left_alone(const std::string& reason) { warn(reason + "; every call is left to the library"); }

}  // namespace antiphon::mpi
