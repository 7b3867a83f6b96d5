! SPDX-License-Identifier: Apache-2.0
! Collectives through `use mpi_f08`. Build: mpifort collectives_f08.f90
program collectives_f08
  use mpi_f08
  implicit none
  include 'body.inc'

  call without_ierror()
  if (MPI_SUBARRAYS_SUPPORTED) call sections()
  include 'end.inc'

  !> The last argument may be left away in this binding.
  subroutine without_ierror()
    integer :: column(block)
    column = merge([(3*i, i=1, block)], 0, rank == 0)
    call MPI_Bcast(column, block, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call expect('bcast without ierror', column, [(3*i, i=1, block)])
  end subroutine

  !> A row of a matrix is not contiguous: the binding passes its shape and strides on. (Not to
  !> reductions: MPICH makes a derived type of it, which has no sum.)
  subroutine sections()
    integer :: matrix(3, block)
    matrix = -1
    if (rank == 0) matrix(2, :) = [(5*i, i=1, block)]
    call MPI_Bcast(matrix(2, :), block, MPI_INTEGER, 0, MPI_COMM_WORLD)
    call expect('bcast of a section', matrix(2, :), [(5*i, i=1, block)])
    matrix(1, :) = rank
    call MPI_Gather(matrix(1, :), block, MPI_INTEGER, many, block, MPI_INTEGER, 0, MPI_COMM_WORLD)
    if (rank == 0) call expect('gather of a section', many, [((j, i=1, block), j=0, ranks - 1)])
    if (any(matrix(3, :) /= -1)) wrong = wrong + 1
  end subroutine
end program
