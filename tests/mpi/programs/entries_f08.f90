! SPDX-License-Identifier: Apache-2.0
! Entry points of mpi_f08 that differ from the others: procedures without buffers, info, MPI_BOTTOM, no ierror.
program entries_f08
  use mpi_f08
  implicit none
  type(MPI_Comm) :: copy
  type(MPI_Info) :: info
  type(MPI_Datatype) :: absolute
  integer(MPI_ADDRESS_KIND) :: address
  integer, target, asynchronous :: values(100)
  integer :: rank, provided, i, ierror
  call MPI_Init_thread(MPI_THREAD_SINGLE, provided)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Barrier(MPI_COMM_WORLD)
  call MPI_Barrier(MPI_COMM_WORLD, ierror)
  if (ierror /= MPI_SUCCESS) error stop 'barrier'

  values = -1
  if (rank == 0) values = [(i, i=1, 100)]
  call MPI_Get_address(values, address)
  call MPI_Type_create_hindexed(1, [100], [address], MPI_INTEGER, absolute)
  call MPI_Type_commit(absolute)
  call MPI_Bcast(MPI_BOTTOM, 1, absolute, 0, MPI_COMM_WORLD)
  if (any(values /= [(i, i=1, 100)])) error stop 'bcast of MPI_BOTTOM'
  call MPI_Type_free(absolute)

  call MPI_Info_create(info)
  call MPI_Info_set(info, 'antiphon_enable', 'false')
  call MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, copy)
  values = rank
  call MPI_Allreduce(MPI_IN_PLACE, values, 100, MPI_INTEGER, MPI_MAX, copy)
  call MPI_Info_set(info, 'antiphon_allreduce', 'on')
  call MPI_Comm_set_info(copy, info)
  call MPI_Allreduce(MPI_IN_PLACE, values, 100, MPI_INTEGER, MPI_MAX, copy)
  call MPI_Comm_free(copy)
  call MPI_Info_free(info)
  if (rank == 0) print '(a)', 'verified'
  call MPI_Finalize()
end program
