! SPDX-License-Identifier: Apache-2.0
! Starts MPI from Fortran and calls collectives. Prints "verified" if all is right.
program starts
  use mpi
  implicit none
  integer, parameter :: n = 3000
  integer :: rank, ranks, ierror, i
  double precision :: mine(n), sums(n)
  logical :: right

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  mine = [(dble(rank + i), i = 1, n)]
  call MPI_Allreduce(mine, sums, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, ierror)
  right = all(abs(sums - [(dble(ranks*i) + ranks*(ranks - 1)/2.0d0, i = 1, n)]) < 1d-9)
  call MPI_Allreduce(MPI_IN_PLACE, right, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, ierror)
  call MPI_Bcast(mine, n, MPI_DOUBLE_PRECISION, ranks - 1, MPI_COMM_WORLD, ierror)
  right = right .and. mine(1) == dble(ranks)
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  if (rank == 0 .and. right) print '(a)', 'verified'
  call MPI_Finalize(ierror)
end program starts
