! SPDX-License-Identifier: Apache-2.0
! Point-to-point calls from Fortran, in the binding that a macro names (MPIF_H, USE_MPI, USE_MPI_F08): checks what
! arrives, its source and length, flags, indices, null handles. Uses every call form that has its own wrapper in some library.
#if defined(USE_MPI_F08)
#define REQUEST type(MPI_Request)
#define MESSAGE type(MPI_Message)
#define STATUS(name) type(MPI_Status) :: name
#define STATUSES(name, n) type(MPI_Status) :: name(n)
#define SOURCE_OF(status) status%MPI_SOURCE
#define TAG_OF(status) status%MPI_TAG
#define NTH(statuses, i) statuses(i)
#else
#define REQUEST integer
#define MESSAGE integer
#define STATUS(name) integer :: name(MPI_STATUS_SIZE)
#define STATUSES(name, n) integer :: name(MPI_STATUS_SIZE, n)
#define SOURCE_OF(status) status(MPI_SOURCE)
#define TAG_OF(status) status(MPI_TAG)
#define NTH(statuses, i) statuses(:, i)
#endif

program point_to_point
#if defined(USE_MPI_F08)
  use mpi_f08
#elif defined(USE_MPI)
  use mpi
#endif
  implicit none
#if defined(MPIF_H)
  include 'mpif.h'
#endif
  integer, parameter :: most = 40000
  integer :: rank, ranks, ierror, n, wrong, size_case
  integer, parameter :: sizes(5) = [1, 7, 127, 2000, most]
  double precision :: out(most), in(most), in2(most)

  call MPI_Init(ierror)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierror)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, ierror)
  wrong = 0
  do size_case = 1, 5
    n = sizes(size_case)
    call blocking(); call nonblocking(); call some_of_many(); call persistent(); call probing(); call both()
  end do
  call MPI_Allreduce(MPI_IN_PLACE, wrong, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierror)
  if (rank == 0 .and. wrong == 0) print *, 'verified'
  call MPI_Finalize(ierror)

contains

  subroutine fill(salt)
    integer, intent(in) :: salt
    integer :: i
    do i = 1, n
      out(i) = 1.0d0 + 1.0d-3 * i + salt
    end do
    in = -1; in2 = -1
  end subroutine

  subroutine expect(ok, what)
    logical, intent(in) :: ok
    character(*), intent(in) :: what
    if (ok) return
    wrong = wrong + 1
    print *, 'wrong: ', what, ' elements', n, ' rank', rank
  end subroutine

  subroutine arrived(values, salt, what)
    double precision, intent(in) :: values(most)
    integer, intent(in) :: salt
    character(*), intent(in) :: what
    integer :: i
    logical :: same
    same = .true.
    do i = 1, n
      same = same .and. values(i) == 1.0d0 + 1.0d-3 * i + salt
    end do
    if (n < most) same = same .and. values(n + 1) == -1
    call expect(same, what)
  end subroutine

  subroutine check_status(status, tag, what)
    STATUS(status)
    integer, intent(in) :: tag
    character(*), intent(in) :: what
    integer :: length
    call MPI_Get_count(status, MPI_DOUBLE_PRECISION, length, ierror)
    call expect(length == n .and. SOURCE_OF(status) == 0 .and. TAG_OF(status) == tag, what)
  end subroutine

  subroutine blocking()
    STATUS(status)
    call fill(1)
    if (rank == 0) then
      call MPI_Send(out, n, MPI_DOUBLE_PRECISION, 1, 11, MPI_COMM_WORLD, ierror)
      call MPI_Ssend(out, n, MPI_DOUBLE_PRECISION, 1, 12, MPI_COMM_WORLD, ierror)
    else if (rank == 1) then
      call MPI_Recv(in, most, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, status, ierror)
      call arrived(in, 1, 'recv'); call check_status(status, 11, 'status of recv')
      call MPI_Recv(in2, most, MPI_DOUBLE_PRECISION, 0, 12, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
      call arrived(in2, 1, 'recv without status')
    end if
  end subroutine

  subroutine nonblocking()
    REQUEST :: requests(2), other
    STATUS(status)
    STATUSES(statuses, 2)
    logical :: flag
    call fill(2)
    if (rank == 0) then
      call MPI_Isend(out, n, MPI_DOUBLE_PRECISION, 1, 21, MPI_COMM_WORLD, requests(1), ierror)
      call MPI_Issend(out, n, MPI_DOUBLE_PRECISION, 1, 22, MPI_COMM_WORLD, requests(2), ierror)
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierror)
      call expect(requests(1) == MPI_REQUEST_NULL .and. requests(2) == MPI_REQUEST_NULL, 'null after waitall')
      call MPI_Isend(out, n, MPI_DOUBLE_PRECISION, 1, 23, MPI_COMM_WORLD, other, ierror)
      call MPI_Request_free(other, ierror)
      call expect(other == MPI_REQUEST_NULL, 'null after free')
      call MPI_Ssend(out, 0, MPI_DOUBLE_PRECISION, 1, 24, MPI_COMM_WORLD, ierror)
    else if (rank == 1) then
      call MPI_Irecv(in, most, MPI_DOUBLE_PRECISION, 0, 21, MPI_COMM_WORLD, requests(1), ierror)
      call MPI_Irecv(in2, most, MPI_DOUBLE_PRECISION, 0, 22, MPI_COMM_WORLD, requests(2), ierror)
      call MPI_Waitall(2, requests, statuses, ierror)
      call arrived(in, 2, 'irecv'); call arrived(in2, 2, 'irecv 2')
      call check_status(NTH(statuses, 1), 21, 'waitall 1'); call check_status(NTH(statuses, 2), 22, 'waitall 2')
      in = -1
      call MPI_Irecv(in, most, MPI_DOUBLE_PRECISION, 0, 23, MPI_COMM_WORLD, other, ierror)
      flag = .false.
      do while (.not. flag)
        call MPI_Request_get_status(other, flag, status, ierror)
      end do
      call expect(other /= MPI_REQUEST_NULL, 'get_status keeps the request')
      call check_status(status, 23, 'get_status')
      call MPI_Test(other, flag, status, ierror)
      call expect(flag .and. other == MPI_REQUEST_NULL, 'test')
      call check_status(status, 23, 'status of test')
      call arrived(in, 2, 'test')
      call MPI_Recv(in2, 0, MPI_DOUBLE_PRECISION, 0, 24, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
    end if
  end subroutine

  subroutine some_of_many()
    REQUEST :: requests(3)
    STATUS(status)
    STATUSES(statuses, 3)
    integer :: index, done, indices(3)
    logical :: flag
    call fill(3)
    if (rank == 0) then
      call MPI_Isend(out, n, MPI_DOUBLE_PRECISION, 1, 31, MPI_COMM_WORLD, requests(2), ierror)
      requests(1) = MPI_REQUEST_NULL; requests(3) = MPI_REQUEST_NULL
      call MPI_Waitany(3, requests, index, MPI_STATUS_IGNORE, ierror)
      call expect(index == 2, 'waitany counts from 1')
      call MPI_Waitany(3, requests, index, status, ierror)
      call expect(index < 1, 'waitany of nothing') ! MPICH 4.0 adds one to MPI_UNDEFINED
      call MPI_Isend(out, n, MPI_DOUBLE_PRECISION, 1, 32, MPI_COMM_WORLD, requests(3), ierror)
      call MPI_Waitsome(3, requests, done, indices, MPI_STATUSES_IGNORE, ierror)
      call expect(done == 1 .and. indices(1) == 3, 'waitsome')
      call MPI_Testall(3, requests, flag, MPI_STATUSES_IGNORE, ierror)
      call expect(flag, 'testall of nothing')
    else if (rank == 1) then
      requests(1) = MPI_REQUEST_NULL
      call MPI_Irecv(in, most, MPI_DOUBLE_PRECISION, 0, 32, MPI_COMM_WORLD, requests(2), ierror)
      call MPI_Irecv(in2, most, MPI_DOUBLE_PRECISION, 0, 31, MPI_COMM_WORLD, requests(3), ierror)
      call MPI_Waitany(2, requests(2:3), index, status, ierror)
      call expect(requests(index + 1) == MPI_REQUEST_NULL, 'waitany nulls')
      call check_status(status, merge(32, 31, index == 1), 'waitany')
      done = 0
      do while (done == 0)
        call MPI_Testsome(3, requests, done, indices, statuses, ierror)
      end do
      call expect(indices(1) == merge(3, 2, index == 1), 'testsome counts from 1')
      call check_status(NTH(statuses, 1), merge(31, 32, index == 1), 'testsome')
      call MPI_Testany(3, requests, index, flag, MPI_STATUS_IGNORE, ierror)
      call expect(flag .and. index < 1, 'testany of nothing')
      call arrived(in, 3, 'waitany'); call arrived(in2, 3, 'testsome')
    end if
  end subroutine

  subroutine persistent()
    REQUEST :: requests(2)
    STATUS(status)
    integer :: round
    if (rank > 1) return
    call fill(4)
    if (rank == 0) then
      call MPI_Send_init(out, n, MPI_DOUBLE_PRECISION, 1, 41, MPI_COMM_WORLD, requests(1), ierror)
      call MPI_Recv_init(in2, 1, MPI_DOUBLE_PRECISION, 1, 42, MPI_COMM_WORLD, requests(2), ierror)
    else
      call MPI_Recv_init(in, most, MPI_DOUBLE_PRECISION, 0, 41, MPI_COMM_WORLD, requests(1), ierror)
      call MPI_Send_init(out, 1, MPI_DOUBLE_PRECISION, 0, 42, MPI_COMM_WORLD, requests(2), ierror)
    end if
    do round = 1, 3
      if (rank == 0) call fill(4 + round)
      if (rank == 1) in = -1
      if (round == 2) then
        call MPI_Start(requests(1), ierror); call MPI_Start(requests(2), ierror)
      else
        call MPI_Startall(2, requests, ierror)
      end if
      call MPI_Wait(requests(1), status, ierror)
      call expect(requests(1) /= MPI_REQUEST_NULL, 'persistent requests stay')
      if (rank == 1) call arrived(in, 4 + round, 'persistent')
      if (rank == 1) call check_status(status, 41, 'persistent')
      call MPI_Wait(requests(2), MPI_STATUS_IGNORE, ierror)
    end do
    call MPI_Request_free(requests(1), ierror)
    call MPI_Request_free(requests(2), ierror)
  end subroutine

  subroutine probing()
    MESSAGE :: message
    REQUEST :: request
    STATUS(status)
    logical :: flag
    call fill(6)
    if (rank == 0) then
      call MPI_Send(out, n, MPI_DOUBLE_PRECISION, 1, 61, MPI_COMM_WORLD, ierror)
      call MPI_Send(out, n, MPI_DOUBLE_PRECISION, 1, 62, MPI_COMM_WORLD, ierror)
      call MPI_Send(out, n, MPI_DOUBLE_PRECISION, 1, 63, MPI_COMM_WORLD, ierror)
      call MPI_Send(out, n, MPI_DOUBLE_PRECISION, 1, 64, MPI_COMM_WORLD, ierror)
    else if (rank == 1) then
      call MPI_Probe(MPI_ANY_SOURCE, 61, MPI_COMM_WORLD, status, ierror)
      call check_status(status, 61, 'probe')
      call MPI_Recv(in, most, MPI_DOUBLE_PRECISION, SOURCE_OF(status), TAG_OF(status), MPI_COMM_WORLD, status, ierror)
      call arrived(in, 6, 'recv of probed'); call check_status(status, 61, 'recv of probed')
      call MPI_Mprobe(0, 62, MPI_COMM_WORLD, message, status, ierror)
      call check_status(status, 62, 'mprobe')
      call MPI_Mrecv(in2, most, MPI_DOUBLE_PRECISION, message, status, ierror)
      call expect(message == MPI_MESSAGE_NULL, 'null after mrecv')
      call arrived(in2, 6, 'mrecv'); call check_status(status, 62, 'mrecv')
      flag = .false.
      do while (.not. flag)
        call MPI_Iprobe(0, 63, MPI_COMM_WORLD, flag, status, ierror)
      end do
      call check_status(status, 63, 'iprobe')
      in = -1; in2 = -1
      call MPI_Recv(in, most, MPI_DOUBLE_PRECISION, 0, 63, MPI_COMM_WORLD, MPI_STATUS_IGNORE, ierror)
      call arrived(in, 6, 'recv after iprobe')
      flag = .false.
      do while (.not. flag)
        call MPI_Improbe(0, MPI_ANY_TAG, MPI_COMM_WORLD, flag, message, status, ierror)
      end do
      call MPI_Imrecv(in2, most, MPI_DOUBLE_PRECISION, message, request, ierror)
      call MPI_Wait(request, status, ierror)
      call arrived(in2, 6, 'imrecv'); call check_status(status, 64, 'imrecv')
    end if
  end subroutine

  subroutine both()
    STATUS(status)
    REQUEST :: request
    logical :: flag
    call fill(7)
    if (rank > 1) return
    call MPI_Sendrecv(out, n, MPI_DOUBLE_PRECISION, 1 - rank, 71, in, most, MPI_DOUBLE_PRECISION, 1 - rank, 71, &
                      MPI_COMM_WORLD, status, ierror)
    call arrived(in, 7, 'sendrecv')
    if (rank == 1) call check_status(status, 71, 'sendrecv')
    call MPI_Sendrecv_replace(out, n, MPI_DOUBLE_PRECISION, 1 - rank, 72, 1 - rank, 72, MPI_COMM_WORLD, &
                              MPI_STATUS_IGNORE, ierror)
    in2(1:n) = out(1:n)
    call arrived(in2, 7, 'sendrecv_replace')
    call MPI_Irecv(in, most, MPI_DOUBLE_PRECISION, 1 - rank, 73, MPI_COMM_WORLD, request, ierror)
    call MPI_Cancel(request, ierror)
    call MPI_Wait(request, status, ierror)
    call MPI_Test_cancelled(status, flag, ierror)
    call expect(flag, 'cancel')
  end subroutine
end program
