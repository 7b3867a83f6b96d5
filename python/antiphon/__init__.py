# SPDX-License-Identifier: Apache-2.0
"""Antiphon: MPI collectives fitted to the network a program really runs on."""

__version__ = "0.1.0"
DESCRIPTION = "Makes an unmodified MPI program faster on the network it really runs on."
