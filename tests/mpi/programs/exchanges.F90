! SPDX-License-Identifier: Apache-2.0
! Exchanges from Fortran, in the binding that a macro names (MPIF_H, USE_MPI, USE_MPI_F08): arrays of datatypes, addresses as
! displacements, MPI_IN_PLACE, neighbours. PERSISTENT (with MPIF_H) initialises them once and starts them repeatedly.
#if defined(USE_MPI_F08)
#define DATATYPE type(MPI_Datatype)
#define COMM type(MPI_Comm)
#else
#define DATATYPE integer
#define COMM integer
#endif

program exchanges
#if defined(USE_MPI_F08)
  use mpi_f08
#elif defined(USE_MPI)
  use mpi
#endif
  implicit none
#if defined(MPIF_H)
  include 'mpif.h'
#endif
  integer, parameter :: n = 3000, most = 16
  integer :: rank, ranks, ierror, wrong, i, k, lower, upper
  ! MPI writes and reads these outside of calls, too.
  integer, target :: out(n, 0:most), in(n, 0:most)
  integer :: counts(0:most), displs(0:most), dims(1)
  integer(MPI_ADDRESS_KIND) :: places(2)
  logical :: periods(1)
  DATATYPE :: types(0:most), row
  COMM :: ring

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  wrong = 0
  call MPI_Type_contiguous(n, MPI_INTEGER, row, ierror)
  call MPI_Type_commit(row, ierror)
  dims(1) = ranks
  periods(1) = .true.
  call MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, .false., ring, ierror)
  call MPI_Cart_shift(ring, 0, 1, lower, upper, ierror)
  do i = 0, ranks - 1
    ! The blocks of odd ranks are sent as one row, those of even ranks as integers.
    types(i) = MPI_INTEGER
    counts(i) = n
    if (mod(i + rank, 2) == 1) then
      types(i) = row
      counts(i) = 1
    end if
    displs(i) = 4 * n * i
  end do
  places = [integer(MPI_ADDRESS_KIND) :: 4 * n, 0]

#ifndef PERSISTENT
  call fill()
  call MPI_Alltoallw(out, counts, displs, types, in, counts, displs, types, MPI_COMM_WORLD, ierror)
  call judge_all('alltoallw')

  in(:, 0:ranks - 1) = out(:, 0:ranks - 1)
  call MPI_Alltoallw(MPI_IN_PLACE, counts, displs, types, in, counts, displs, types, MPI_COMM_WORLD, ierror)
  call judge_all('alltoallw in place')

  call fill()
  call MPI_Neighbor_alltoall(out, 1, row, in, n, MPI_INTEGER, ring, ierror)
  call judge(0, lower, 1, 'alltoall')
  call judge(1, upper, 0, 'alltoall')

  call fill()
  call MPI_Neighbor_alltoallv(out, [n, n], [n, 0], MPI_INTEGER, in, [n, n], [0, n], MPI_INTEGER, ring, ierror)
  call judge(0, lower, 0, 'alltoallv')
  call judge(1, upper, 1, 'alltoallv')

#ifndef NO_ALLTOALLW_OF_GRIDS
  call fill()
  call MPI_Neighbor_alltoallw(out, [1, n], places, [row, MPI_INTEGER], in, [n, 1], [places(2), places(1)], [MPI_INTEGER, row], ring, ierror)
  call judge(0, lower, 0, 'alltoallw of neighbours')
  call judge(1, upper, 1, 'alltoallw of neighbours')
#endif

  call fill()
  call MPI_Neighbor_allgather(out, n, MPI_INTEGER, in, 1, row, ring, ierror)
  call judge(0, lower, 0, 'allgather')
  call judge(1, upper, 0, 'allgather')

  call fill()
  call MPI_Neighbor_allgatherv(out, n, MPI_INTEGER, in, [n, n], [n, 0], MPI_INTEGER, ring, ierror)
  call judge(1, lower, 0, 'allgatherv')
  call judge(0, upper, 0, 'allgatherv')
#else
  call persistent()
#endif

  call MPI_Comm_free(ring, ierror)
  call MPI_Type_free(row, ierror)
  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  if (rank == 0 .and. wrong == 0) print '(a)', 'verified'
  call MPI_Finalize(ierror)
  if (wrong /= 0) stop 1

contains

#ifdef PERSISTENT
  subroutine persistent()
    integer :: requests(4), statuses(MPI_STATUS_SIZE, 4), turn, all_counts(0:most), all_displs(0:most)
    integer, volatile :: total, mine
    all_counts = n
    all_displs = [(n * i, i = 0, most)]
    call MPI_Alltoallv_init(out, all_counts, all_displs, MPI_INTEGER, in, all_counts, all_displs, MPI_INTEGER, MPI_COMM_WORLD, &
                            MPI_INFO_NULL, requests(1), ierror)
    call MPI_Allreduce_init(mine, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, requests(2), ierror)
    do turn = 1, 3
      call fill()
      mine = rank + turn
      call MPI_Start(requests(1), ierror)
      call MPI_Start(requests(2), ierror)
      call MPI_Waitall(2, requests, statuses, ierror)
      call judge_all('persistent alltoallv')
      if (total /= ranks * (ranks - 1) / 2 + ranks * turn) call complain('persistent allreduce')
    end do
    call MPI_Alltoallw_init(out, counts, displs, types, in, counts, displs, types, MPI_COMM_WORLD, MPI_INFO_NULL, requests(3), ierror)
    call MPI_Neighbor_alltoallv_init(out, [n, n], [n, 0], MPI_INTEGER, in, [n, n], [0, n], MPI_INTEGER, ring, MPI_INFO_NULL, requests(4), ierror)
    do turn = 1, 3
      call fill()
      call MPI_Start(requests(3), ierror)
      call MPI_Wait(requests(3), statuses, ierror)
      call judge_all('persistent alltoallw')
      call fill()
      call MPI_Start(requests(4), ierror)
      call MPI_Wait(requests(4), statuses, ierror)
      call judge(0, lower, 0, 'persistent alltoallv of neighbours')
      call judge(1, upper, 1, 'persistent alltoallv of neighbours')
    end do
    do k = 1, 4
      call MPI_Request_free(requests(k), ierror)
    end do
  end subroutine
#endif

  integer function content(from, block, i)
    integer, intent(in) :: from, block, i
    content = from * 1000000 + block * 10000 + i
  end function

  subroutine fill()
    in = -1
    do k = 0, most
      do i = 1, n
        out(i, k) = content(rank, k, i)
      end do
    end do
  end subroutine

  subroutine complain(what)
    character(*), intent(in) :: what
    wrong = wrong + 1
    if (wrong < 4) print '(a, i0, a, a)', 'wrong on rank ', rank, ': ', what
  end subroutine

  ! Checks that block `at` equals block `block` of rank `from`.
  subroutine judge(at, from, block, what)
    integer, intent(in) :: at, from, block
    character(*), intent(in) :: what
    do i = 1, n
      if (in(i, at) /= content(from, block, i)) then
        call complain(what)
        return
      end if
    end do
  end subroutine

  subroutine judge_all(what)
    character(*), intent(in) :: what
    do k = 0, ranks - 1
      call judge(k, k, rank, what)
    end do
  end subroutine

end program
