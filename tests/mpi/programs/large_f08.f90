! SPDX-License-Identifier: Apache-2.0
! Counts of kind MPI_COUNT_KIND: the binding calls MPI_Bcast_c.
program large_f08
  use mpi_f08
  implicit none
  integer(MPI_COUNT_KIND) :: n = 1000
  integer :: values(1000), rank, i
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  values = 0
  if (rank == 0) values = [(i, i=1, 1000)]
  call MPI_Bcast(values, n, MPI_INTEGER, 0, MPI_COMM_WORLD)
  if (any(values /= [(i, i=1, 1000)])) error stop 'bcast'
  if (rank == 0) print '(a)', 'verified'
  call MPI_Finalize()
end program
