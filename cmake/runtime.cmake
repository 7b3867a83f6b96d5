# SPDX-License-Identifier: Apache-2.0
# One wheel runs anywhere: no dependence on the build machine's C++ runtime, where that machine has a static one.
include(CheckLinkerFlag)
add_link_options(-static-libgcc)
check_linker_flag(CXX -static-libstdc++ ANTIPHON_STATIC_LIBSTDCXX)
if(ANTIPHON_STATIC_LIBSTDCXX)
  add_link_options(-static-libstdc++)
else()
  message(STATUS "libstdc++ is linked dynamically, for this machine: there is no static one (Fedora, RHEL: libstdc++-static)")
endif()
