! SPDX-License-Identifier: Apache-2.0
! Nonblocking collectives with each kind of argument: in place, arrays of counts, operations, neighbours. Checks every result.
program nonblocking
#if defined(USE_MPI_F08)
  use mpi_f08
  implicit none
  type(MPI_Request) :: requests(9)
  type(MPI_Comm) :: ring
#elif defined(USE_MPI)
  use mpi
  implicit none
  integer :: requests(9), ring
#else
  implicit none
  include 'mpif.h'
  integer :: requests(9), ring
#endif
  integer :: rank, ranks, ierr, i, wrong, all_wrong
  integer :: summed(3), told(2), mine(2), sides(4)
  integer, allocatable :: one(:), gathered(:), counts(:), displs(:), ragged(:), piece(:), exchanged(:), here(:)

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierr)
  allocate(one(ranks), gathered(ranks), counts(ranks), displs(ranks), piece(ranks), exchanged(ranks), here(ranks))
  counts = [(i, i = 1, ranks)]
  displs = [(i * (i - 1) / 2, i = 1, ranks)]
  allocate(ragged(ranks * (ranks + 1) / 2))
  call MPI_Cart_create(MPI_COMM_WORLD, 1, [ranks], [.true.], .false., ring, ierr)

  summed = [rank, rank + 1, rank + 2]
  told = merge([7, 8], [0, 0], rank == 1)
  mine = rank
  one = [(100 * rank + i, i = 1, ranks)]
  here = 0
  call MPI_Iallreduce(MPI_IN_PLACE, summed, 3, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(1), ierr)
  call MPI_Ibcast(told, 2, MPI_INTEGER, 1, MPI_COMM_WORLD, requests(2), ierr)
  call MPI_Ibarrier(MPI_COMM_WORLD, requests(3), ierr)
  call MPI_Iallgather(rank, 1, MPI_INTEGER, gathered, 1, MPI_INTEGER, MPI_COMM_WORLD, requests(4), ierr)
  piece = rank
  call MPI_Iallgatherv(piece, rank + 1, MPI_INTEGER, ragged, counts, displs, MPI_INTEGER, MPI_COMM_WORLD, requests(5), ierr)
  call MPI_Ialltoall(one, 1, MPI_INTEGER, exchanged, 1, MPI_INTEGER, MPI_COMM_WORLD, requests(6), ierr)
  call MPI_Ireduce_scatter_block(one, here, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, requests(7), ierr)
  call MPI_Iscan(rank, mine, 1, MPI_INTEGER, MPI_MAX, MPI_COMM_WORLD, requests(8), ierr)
  sides = -1
  call MPI_Ineighbor_allgather(rank, 1, MPI_INTEGER, sides, 1, MPI_INTEGER, ring, requests(9), ierr)
  call MPI_Waitall(9, requests, MPI_STATUSES_IGNORE, ierr)

  wrong = count(summed /= [(ranks * (ranks - 1) / 2 + ranks * i, i = 0, 2)])
  wrong = wrong + count(told /= [7, 8])
  wrong = wrong + count(gathered /= [(i, i = 0, ranks - 1)])
  do i = 1, ranks
    wrong = wrong + count(ragged(displs(i) + 1:displs(i) + i) /= i - 1)
  end do
  wrong = wrong + count(exchanged /= [(100 * (i - 1) + rank + 1, i = 1, ranks)])
  if (here(1) /= 100 * ranks * (ranks - 1) / 2 + ranks * (rank + 1)) wrong = wrong + 1
  if (mine(1) /= rank) wrong = wrong + 1
  wrong = wrong + count(sides(1:2) /= [modulo(rank - 1, ranks), modulo(rank + 1, ranks)])
  call MPI_Allreduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  if (rank == 0 .and. all_wrong == 0) print '(a)', 'verified'
  call MPI_Finalize(ierr)
end program
