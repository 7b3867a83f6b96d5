# SPDX-License-Identifier: Apache-2.0
"""Antiphon: MPI collectives fitted to the network a program really runs on."""

__version__ = "0.1.0"
