# SPDX-License-Identifier: Apache-2.0
"""Where each rank goes: computed from traffic and machine, kept in a file, written for launchers."""

from antiphon.placement.document import Node, Placement

__all__ = ["Node", "Placement"]
