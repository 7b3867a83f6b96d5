# SPDX-License-Identifier: Apache-2.0
# `make demo` builds and installs the core, two preload objects and the programs of `antiphon demo`. It leaves out the
# rest of the package, which takes as long again to compile.
set(demo_targets antiphon_core)
set(demo_abis ${ANTIPHON_ABIS})
list(REMOVE_ITEM demo_abis mpiabi)
foreach(abi ${demo_abis})
  list(APPEND demo_targets antiphon-${abi} antiphon-demo-integer_sort-${abi} antiphon-demo-fft3d-${abi})
endforeach()
add_custom_target(demo DEPENDS ${demo_targets})
install(TARGETS ${demo_targets} LIBRARY DESTINATION ${antiphon_parts} COMPONENT demo EXCLUDE_FROM_ALL
        RUNTIME DESTINATION ${antiphon_parts} COMPONENT demo EXCLUDE_FROM_ALL)
