# SPDX-License-Identifier: Apache-2.0
# Makes everything that is linked from here on load with glibc 2.28 (RHEL 8) and newer, whatever this system has.
# src/glibc/ says how; tests/unit/test_oldest_systems.py checks all files of the installed package.
if(ANTIPHON_SANITIZE OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|aarch64)$")
  return()
endif()
include(CheckSymbolExists)
check_symbol_exists(__GLIBC__ "features.h" ANTIPHON_HAS_GLIBC)
if(NOT ANTIPHON_HAS_GLIBC)
  return()
endif()
add_library(antiphon_glibc OBJECT src/glibc/oldest.c)
add_library(antiphon_glibc_start OBJECT src/glibc/start.c)
# Link-time optimisation would part the functions from the assembly that names their versions.
set_source_files_properties(src/glibc/oldest.c src/glibc/start.c PROPERTIES COMPILE_OPTIONS -fno-lto)
# Each function has a section of its own, so that the linker keeps only those that are used.
add_compile_options(-ffunction-sections -fdata-sections)
target_compile_options(antiphon_glibc PRIVATE -ffunction-sections)
link_libraries($<TARGET_OBJECTS:antiphon_glibc>
               $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:$<TARGET_OBJECTS:antiphon_glibc_start>>)
file(STRINGS src/glibc/oldest.c bound REGEX "^(BIND|STATUS)\\(|__wrap_[a-z0-9_]")
list(TRANSFORM bound REPLACE "^BIND\\([^,]*, [^,]*, ([a-z0-9_]+),.*" "\\1")
list(TRANSFORM bound REPLACE "^STATUS\\(([a-z0-9_]+),.*" "\\1")
list(TRANSFORM bound REPLACE ".*__wrap_([a-z0-9_]+).*" "\\1")
list(REMOVE_DUPLICATES bound)
foreach(name ${bound} __libc_start_main)
  add_link_options(-Wl,--wrap=${name})
endforeach()
# An older glibc has some of these functions in libraries of their own; their file names are the same everywhere.
add_link_options(-Wl,--gc-sections -Wl,--push-state,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2 -l:libm.so.6 -Wl,--pop-state)
