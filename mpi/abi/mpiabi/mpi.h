// SPDX-License-Identifier: Apache-2.0
// This is the standard ABI's header, which MPICH installs beside its own mpi.h.
#pragma once

#include <mpi_abi.h>
