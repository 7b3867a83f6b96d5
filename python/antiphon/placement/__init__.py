# SPDX-License-Identifier: Apache-2.0
"""Computes where each rank goes from traffic and machine, keeps it in a file, and writes it for launchers."""

from antiphon.placement.document import Node, Placement

__all__ = ["Node", "Placement"]
