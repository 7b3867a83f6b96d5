! SPDX-License-Identifier: Apache-2.0
! Collectives through mpif.h. Build: mpifort -fallow-argument-mismatch collectives_mpif.f90
program collectives_mpif
  implicit none
  include 'mpif.h'
  include 'body.inc'
  include 'end.inc'
end program
