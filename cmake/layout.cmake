# SPDX-License-Identifier: Apache-2.0
# Where things are installed. `wheel`: all below antiphon/, the Python package. `system`, for packages of distributions:
# compiled parts in lib/antiphon, headers in include, the Python package in ANTIPHON_PYTHON_DIR with a link to its
# compiled parts, and the command in bin.
set(ANTIPHON_LAYOUT wheel CACHE STRING "Where things are installed: wheel or system")
if(ANTIPHON_LAYOUT STREQUAL wheel)
  set(antiphon_parts antiphon/lib)
  set(antiphon_headers antiphon/include)
  set(antiphon_share antiphon/share)
  set(antiphon_parts_in_prefix lib)
  return()
elseif(NOT ANTIPHON_LAYOUT STREQUAL system)
  message(FATAL_ERROR "ANTIPHON_LAYOUT is wheel or system, not ${ANTIPHON_LAYOUT}")
endif()

include(GNUInstallDirs)
set(ANTIPHON_PYTHON_DIR lib/python3/dist-packages CACHE STRING "The system's Python packages, below the prefix")
set(ANTIPHON_PYTHON /usr/bin/python3 CACHE STRING "The Python that the command runs with")
set(antiphon_parts ${CMAKE_INSTALL_LIBDIR}/antiphon)
set(antiphon_headers ${CMAKE_INSTALL_INCLUDEDIR})
set(antiphon_share ${CMAKE_INSTALL_DATADIR})
set(antiphon_parts_in_prefix ${antiphon_parts})

set(package ${ANTIPHON_PYTHON_DIR}/antiphon)
install(DIRECTORY python/antiphon/ DESTINATION ${package} PATTERN __pycache__ EXCLUDE
        REGEX "python/antiphon/(lib|include|share)$" EXCLUDE)
install(DIRECTORY lab/clusters/ DESTINATION ${package}/lab/clusters)
install(DIRECTORY share/ DESTINATION ${antiphon_share})
file(RELATIVE_PATH to_parts /${package} /${antiphon_parts})
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/layout)
file(CREATE_LINK ${to_parts} ${PROJECT_BINARY_DIR}/layout/lib SYMBOLIC)
install(FILES ${PROJECT_BINARY_DIR}/layout/lib DESTINATION ${package})
# A folder that Python does not search by itself is named in the command. Distributions' packages have the prefix /usr.
set(search "")
if(NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr" OR NOT ANTIPHON_PYTHON_DIR MATCHES "/(dist|site)-packages$")
  # It is found from the command, because `cmake --install --prefix` may put both elsewhere.
  file(RELATIVE_PATH to_python /${CMAKE_INSTALL_BINDIR} /${ANTIPHON_PYTHON_DIR})
  set(search "sys.path.insert(0, os.path.normpath(os.path.join(os.path.realpath(__file__), \"../${to_python}\")))\n")
endif()
file(WRITE ${PROJECT_BINARY_DIR}/layout/antiphon
     "#!${ANTIPHON_PYTHON}\nimport os\nimport sys\n\n${search}from antiphon.cli import main\n\nsys.exit(main())\n")
install(PROGRAMS ${PROJECT_BINARY_DIR}/layout/antiphon DESTINATION ${CMAKE_INSTALL_BINDIR})
