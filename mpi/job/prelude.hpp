// SPDX-License-Identifier: Apache-2.0
// The build includes this file before every source of a preload object.
#pragma once

// MPI 4.0 defines this, and some of the libraries that an object serves lack it. A weak reference lets programs start
// with them even under LD_BIND_NOW.
#pragma weak PMPI_Type_get_envelope_c

#include "job/library_calls.gen.hpp"
