// SPDX-License-Identifier: Apache-2.0
// Reads the symbol tables of the objects that are loaded, without opening them.
#pragma once

namespace antiphon::mpi {

/// Tells whether the object that holds `function` refers to `symbol`, so that its calls are bound to this object.
bool imports(void* function, const char* symbol);

/// Returns a function that an object other than this one defines, whether or not its symbols are for all; null if none
/// does. It serves at exit: dlopen would then construct objects again whose destructors have run.
void* loaded_definition(const char* symbol);

}  // namespace antiphon::mpi
