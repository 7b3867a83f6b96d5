# SPDX-License-Identifier: Apache-2.0
"""How a Python program without a compiled MPI module calls MPI: the beginning of such a program."""

#: Its first argument is the library's family. It leaves the library as `mpi`, and handles as `world` and `byte`.
HANDLES = """
import ctypes, json, os, sys, time
mpi = ctypes.CDLL(None)
named = lambda name: ctypes.c_void_p(ctypes.addressof(ctypes.c_char.in_dll(mpi, name)))
if sys.argv[1] == "openmpi":
    world, byte = named("ompi_mpi_comm_world"), named("ompi_mpi_byte")
else:
    world, byte = ctypes.c_int(0x44000000), ctypes.c_int(0x4C00010D)
"""
