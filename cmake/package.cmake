# SPDX-License-Identifier: Apache-2.0
# Installs what other projects build with (headers, a CMake package, files for pkg-config), and the generated manual
# pages and completions. All paths are relative, so that the package may be moved.
include(CMakePackageConfigHelpers)
set(package ${PROJECT_SOURCE_DIR}/cmake/package)
set(made ${PROJECT_BINARY_DIR}/package)
write_basic_package_version_file(${made}/AntiphonConfigVersion.cmake COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)
foreach(name antiphon antiphon-codec)
  configure_file(${package}/${name}.pc.in ${made}/${name}.pc @ONLY)
endforeach()
install(FILES include/antiphon.h include/antiphon_codec.h include/antiphon_codec.hpp DESTINATION ${antiphon_headers})
configure_file(${package}/AntiphonConfig.cmake.in ${made}/AntiphonConfig.cmake @ONLY)
install(FILES ${made}/AntiphonConfig.cmake ${made}/AntiphonConfigVersion.cmake DESTINATION ${antiphon_share}/cmake/Antiphon)
install(FILES ${made}/antiphon.pc ${made}/antiphon-codec.pc DESTINATION ${antiphon_share}/pkgconfig)
if(SKBUILD_DATA_DIR)
  install(DIRECTORY share/ DESTINATION ${SKBUILD_DATA_DIR}/share)
endif()
