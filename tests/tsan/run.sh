#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs MPI programs under the thread sanitizer, with the preload object of build/tsan-mpi on MPICH. A race ends with 66.
set -e
build=build/tsan-mpi
mpi=.venv/mpi/mpich

"$mpi/bin/mpicc" -O1 -shared -fPIC -o "$build/libmpi-order.so" tests/tsan/mpi_order.c -ldl

run() { # RANKS SETTINGS PROGRAM ARGUMENTS…
  ranks=$1 settings=$2 program=$3
  shift 3
  echo "==> $settings $program $*"
  "$mpi/bin/mpicc" -O1 -g -fsanitize=thread -Iinclude -o "$build/$program" "tests/mpi/programs/$program.c" -lpthread -lm -ldl
  # Without fixed addresses, the sanitizer of older compilers has no room for its shadow memory on new systems. It takes
  # addresses of other processes for this one's, so no memory is read across processes. UCX's hooks of memory events run
  # in threads that the sanitizer has already ended.
  env $settings UCX_MEM_EVENTS=n UCX_TLS=tcp,self UCX_LOG_LEVEL=error ANTIPHON_SHARED_MEMORY=copy LD_LIBRARY_PATH="$mpi/lib" \
    TSAN_OPTIONS="suppressions=$PWD/tests/tsan/suppressions history_size=4 $TSAN_OPTIONS" setarch -R "$mpi/bin/mpiexec" -n "$ranks" -genv LD_PRELOAD \
    "$(g++ -print-file-name=libtsan.so) $PWD/$build/libmpi-order.so $PWD/$build/mpi/libantiphon-mpich.so" \
    "$build/$program" "$@"
}

run 4 "ANTIPHON_FORCE=*:on" outstanding threads
run 4 "ANTIPHON_FORCE=*:on;gatherv:binomial" outstanding lifetimes
run 3 "ANTIPHON_FORCE=*:on ANTIPHON_PROGRESS=thread" sleeper
run 3 "ANTIPHON_FORCE=*:on ANTIPHON_COMPRESS=force" outstanding threads
run 3 "ANTIPHON_COMPRESS=force" p2p_order threads
run 2 "ANTIPHON_FORCE=bcast:multicast ANTIPHON_NODES=a,b ANTIPHON_MULTICAST_INTERFACE=lo ANTIPHON_MULTICAST_GROUPS=3" multicast_groups threads
run 3 "ANTIPHON_NODES=a*2,b ANTIPHON_LINK_BITS_PER_S=10000000" turns 150 0 in
