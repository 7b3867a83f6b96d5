// SPDX-License-Identifier: Apache-2.0
// A library of the program may start MPI in its constructor, before this object's static variables are constructed, and
// end it in its destructor, when they would be destroyed.
#pragma once

namespace antiphon::mpi {

/// Tells whether this object's static variables are constructed. They are never destroyed.
bool static_variables_exist();

}  // namespace antiphon::mpi
