! SPDX-License-Identifier: Apache-2.0
program reorder_mpi
  use mpi
  implicit none
  integer :: comm
  integer :: ierror, old_rank, rank, ranks, i, failures, all_failures, indegree, outdegree
  integer :: dims(1), got(1), coords(1), index(64), edges(128), found(2), sources(1), targets(1), degrees(1), own(1), weights(1)
  logical :: periods(1), wraps(1), weighted
  include 'reorder.inc'
end program reorder_mpi
