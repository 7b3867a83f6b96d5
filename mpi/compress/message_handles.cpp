// SPDX-License-Identifier: Apache-2.0
// Fortran needs handles for messages that MPI_Mprobe took out of the library. MPICH's are numbers in both languages.
#include "compress/framed.hpp"
#include "job/entry_points.hpp"

#if ANTIPHON_ABI_OPENMPI

using namespace antiphon::mpi;

extern "C" {

ANTIPHON_EXPORT MPI_Fint message_c2f(Word message) __asm__("MPI_Message_c2f");
MPI_Fint message_c2f(Word word) {
  if (!find_library()) return untyped<MPI_Fint (*)(Word)>(library.Message_c2f)(word);
  const auto message = from_word<MPI_Message>(word);
  return framed::is_own_message(message) ? framed::own_message_to_fortran(message) : PMPI_Message_c2f(message);
}

ANTIPHON_EXPORT MPI_Message message_f2c(MPI_Fint message) __asm__("MPI_Message_f2c");
MPI_Message message_f2c(MPI_Fint message) {
  if (!find_library()) return PMPI_Message_f2c(message);
  return message < 0 && framing() ? framed::own_message_from_fortran(message) : PMPI_Message_f2c(message);
}

// Open MPI's Fortran bindings use these names.
ANTIPHON_EXPORT MPI_Fint message_c2f_by_profiling_name(Word message) __asm__("PMPI_Message_c2f")
    __attribute__((alias("MPI_Message_c2f")));
ANTIPHON_EXPORT MPI_Message message_f2c_by_profiling_name(MPI_Fint message) __asm__("PMPI_Message_f2c")
    __attribute__((alias("MPI_Message_f2c")));

}  // extern "C"

#endif
