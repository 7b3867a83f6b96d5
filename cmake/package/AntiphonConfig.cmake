# SPDX-License-Identifier: Apache-2.0
# find_package(Antiphon) makes two targets:
#   Antiphon::antiphon  <antiphon.h>, the C API of the preload object; the program brings <mpi.h> and links no library
#   Antiphon::codec     <antiphon_codec.h> and <antiphon_codec.hpp> with the library of codecs, without MPI
get_filename_component(Antiphon_PREFIX "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)

if(NOT TARGET Antiphon::antiphon)
  add_library(Antiphon::antiphon INTERFACE IMPORTED)
  set_target_properties(Antiphon::antiphon PROPERTIES
    INTERFACE_INCLUDE_DIRECTORIES "${Antiphon_PREFIX}/include"
    INTERFACE_LINK_LIBRARIES "${CMAKE_DL_LIBS}")
endif()

set(Antiphon_codec_FOUND FALSE)
if(EXISTS "${Antiphon_PREFIX}/lib/libantiphon_core.so")
  set(Antiphon_codec_FOUND TRUE)
  if(NOT TARGET Antiphon::codec)
    add_library(Antiphon::codec SHARED IMPORTED)
    set_target_properties(Antiphon::codec PROPERTIES
      IMPORTED_LOCATION "${Antiphon_PREFIX}/lib/libantiphon_core.so"
      IMPORTED_NO_SONAME TRUE
      INTERFACE_INCLUDE_DIRECTORIES "${Antiphon_PREFIX}/include")
  endif()
endif()

foreach(component IN LISTS Antiphon_FIND_COMPONENTS)
  if(NOT component MATCHES "^(antiphon|codec)$" OR (component STREQUAL "codec" AND NOT Antiphon_codec_FOUND))
    set(Antiphon_${component}_FOUND FALSE)
    if(Antiphon_FIND_REQUIRED_${component})
      set(Antiphon_FOUND FALSE)
      set(Antiphon_NOT_FOUND_MESSAGE "Antiphon has no component ${component}: there are antiphon and codec.")
    endif()
  endif()
endforeach()
