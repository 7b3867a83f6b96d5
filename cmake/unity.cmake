# SPDX-License-Identifier: Apache-2.0
# Headers take most of what a small file costs to compile, so the files of a folder are compiled together. Presets for
# development compile each file by itself: a change costs one file, and a missing include shows.
option(ANTIPHON_UNITY "Compile the sources of a folder together" ON)

# In these folders each file is a plug-in with the same private names as its neighbours.
set(plugin_folders "/collectives/[^/]*/|/cost/closed/|/codecs/[^/]*cpp|/codecs/kernels/|/phases/schedulers/|/mapping/methods/|/capi/")

# antiphon_unity(TARGET [GROUPS <regex>...]) compiles the sources of each folder together. A regex for file names gives
# those files a group of their own.
function(antiphon_unity target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "GROUPS")
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${ANTIPHON_UNITY} UNITY_BUILD_MODE GROUP)
  get_target_property(files ${target} SOURCES)
  list(FILTER files EXCLUDE REGEX "${plugin_folders}|^\\$|^${PROJECT_BINARY_DIR}/")
  foreach(file ${files})
    get_filename_component(name ${file} NAME)
    get_filename_component(folder ${file} DIRECTORY)
    get_filename_component(group "${folder}" NAME)
    foreach(regex ${arg_GROUPS})
      if(name MATCHES "${regex}")
        string(MAKE_C_IDENTIFIER "${regex}" group)
        break()
      endif()
    endforeach()
    set_source_files_properties(${file} PROPERTIES UNITY_GROUP "${group}")
  endforeach()
endfunction()
