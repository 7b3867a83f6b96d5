! SPDX-License-Identifier: Apache-2.0
! Collectives through `use mpi`. Build: mpifort collectives_mpi.f90
program collectives_mpi
  use mpi
  implicit none
  include 'body.inc'
  include 'end.inc'
end program
