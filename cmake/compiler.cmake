# SPDX-License-Identifier: Apache-2.0
# Ends where the compiler is too old: std::bit_cast and `using enum` came with GCC 11. Older ones of Clang are not tried.
set(least_GNU 11)
set(least_Clang 14)
set(least "${least_${CMAKE_CXX_COMPILER_ID}}")
if(least AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS least)
  message(FATAL_ERROR "${CMAKE_CXX_COMPILER} is ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}, and Antiphon needs ${least} or newer.\n"
    "hint: load a newer one, or name it as CXX=g++-12; or build a wheel on another machine (docs/guides/install.md)")
endif()
