# SPDX-License-Identifier: Apache-2.0
# Headers take most of what a small file costs to compile, so the files of a folder are compiled together. Presets for
# development compile each file by itself: a change costs one file, and a missing include shows.
option(ANTIPHON_UNITY "Compile the sources of a folder together" ON)

# In these folders files have the same private names as their neighbours.
set(folders_apart "/cost/closed/|/codecs/[^/]*cpp|/codecs/kernels/|/capi/")

# antiphon_unity(TARGET [GROUPS <regex>...]) compiles the sources of each folder together. A regex for file names gives
# those files a group of their own.
function(antiphon_unity target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "GROUPS")
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${ANTIPHON_UNITY} UNITY_BUILD_MODE GROUP)
  get_target_property(files ${target} SOURCES)
  list(FILTER files EXCLUDE REGEX "${folders_apart}|^\\$|^${PROJECT_BINARY_DIR}/")
  foreach(file ${files})
    get_filename_component(name ${file} NAME)
    get_filename_component(folder ${file} DIRECTORY)
    get_filename_component(group "${folder}" NAME)
    # The folders of collectives have few files each; those of one letter make a group.
    if(folder MATCHES "/collectives/(.)[^/]*$")
      set(group collectives_${CMAKE_MATCH_1})
    endif()
    foreach(regex ${arg_GROUPS})
      if(name MATCHES "${regex}")
        string(MAKE_C_IDENTIFIER "${regex}" group)
        break()
      endif()
    endforeach()
    set_source_files_properties(${file} PROPERTIES UNITY_GROUP "${group}")
  endforeach()
endfunction()
