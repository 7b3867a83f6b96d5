! SPDX-License-Identifier: Apache-2.0
! Calls that tool.c takes over, from Fortran: ranks 0 and 1 exchange long messages that compress well.
program tooled
  implicit none
  include 'mpif.h'
  integer, parameter :: n = 20000
  integer :: ierr, rank, ranks, request, i, total, status(MPI_STATUS_SIZE)
  double precision :: mine(n), theirs(n)
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  total = merge(7, 0, rank == 0)
  call MPI_Bcast(total, 1, MPI_INTEGER, 0, MPI_COMM_WORLD, ierr)
  if (total /= 7) stop 1
  do i = 1, 3
    call MPI_Allreduce(rank + 1, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
    if (total /= ranks * (ranks + 1) / 2) stop 2
  end do
  mine = rank
  if (rank < 2) then
    call MPI_Isend(mine, n, MPI_DOUBLE_PRECISION, 1 - rank, 5, MPI_COMM_WORLD, request, ierr)
    call MPI_Recv(theirs, n, MPI_DOUBLE_PRECISION, 1 - rank, 5, MPI_COMM_WORLD, status, ierr)
    call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
    if (any(theirs /= 1 - rank)) stop 3
  end if
  call MPI_Finalize(ierr)
  if (rank == 0) print '(a)', 'all is right'
end program tooled
