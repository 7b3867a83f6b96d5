! SPDX-License-Identifier: Apache-2.0
! Ranks exchange messages in the order of their ranks, again and again, in Fortran. Prints "verified".
program in_turn
  use mpi_f08
  implicit none
  integer, parameter :: length = 16384, times = 12, most = 8
  integer :: into(length, most), out(length, most)
  type(MPI_Request) :: requests(2 * most)
  integer :: turn, peer, ranks, rank, count, wrong, all_wrong

  call MPI_Init()
  call MPI_Comm_size(MPI_COMM_WORLD, ranks)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  wrong = 0
  do turn = 1, times
    count = 0
    do peer = 0, ranks - 1
      out(:, peer + 1) = 1000 * turn + 10 * rank + peer
      if (peer == rank) cycle
      count = count + 1
      call MPI_Irecv(into(:, peer + 1), length, MPI_INTEGER, peer, 3, MPI_COMM_WORLD, requests(count))
    end do
    call MPI_Barrier(MPI_COMM_WORLD)
    do peer = 0, ranks - 1
      if (peer == rank) cycle
      count = count + 1
      call MPI_Isend(out(:, peer + 1), length, MPI_INTEGER, peer, 3, MPI_COMM_WORLD, requests(count))
    end do
    call MPI_Waitall(count, requests, MPI_STATUSES_IGNORE)
    do peer = 0, ranks - 1
      if (peer == rank) cycle
      if (any(into(:, peer + 1) /= 1000 * turn + 10 * peer + rank)) wrong = wrong + 1
    end do
    do peer = 1, count
      if (requests(peer) /= MPI_REQUEST_NULL) wrong = wrong + 1
    end do
  end do
  call MPI_Reduce(wrong, all_wrong, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD)
  if (rank == 0) then
    if (all_wrong == 0) then
      print '(a)', 'verified'
    else
      print '(a)', 'wrong'
    end if
  end if
  call MPI_Finalize()
end program in_turn
