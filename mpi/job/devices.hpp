// SPDX-License-Identifier: Apache-2.0
// Buffers in the memory of a GPU, which the processor must not touch. The GPU's driver is asked, if the process has
// loaded one: CUDA, HIP or Level Zero.
#pragma once

#include <cstddef>

namespace antiphon::mpi {

/// Tells whether the processor cannot use this memory; pinned, managed and shared memory it can. This is false unless
/// drivers are watched for; without a driver it only looks whether an object was loaded since the last time.
bool is_device_memory(const void* address);

/// Copies between any two places, one of them in a GPU's memory. Returns false if the driver refuses.
bool copy_with_device(void* to, const void* from, std::size_t bytes);

void watch_for_drivers(bool wanted);

/// Tells whether this process has loaded a GPU's driver, or its node has a GPU.
bool may_have_devices();

}  // namespace antiphon::mpi
