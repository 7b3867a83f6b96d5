# SPDX-License-Identifier: Apache-2.0
"""What no algorithm can beat on a described cluster: antiphon.model.bounds, with the links and hosts of its file."""

from __future__ import annotations

from antiphon.cluster.profile import connection_bytes_per_s
from antiphon.cluster.spec import ClusterSpec
from antiphon.model import bounds, limits
from antiphon.model.bounds import Bound

__all__ = ["Bound", "bound_of"]


def bound_of(
    collective: str, message_bytes: int, spec: ClusterSpec, ranks: int, variant: str = "typical", root: int = 0
) -> Bound | None:
    """Returns the greatest of the least times; None where no byte has to cross a link."""
    host = spec.hosts.host(variant)
    allowed = bounds.HostLimits(
        host.core_mb_per_s * 1e6,
        connection_bytes_per_s(spec, host) if host.connection_mb_per_s else 0.0,
        spec.cores_per_node,
    )
    network = _network(spec, ranks, min(spec.ranks_per_node, ranks), root)
    return bounds.bound_of(collective, message_bytes, network, allowed, root)


def _network(spec: ClusterSpec, ranks: int, per_node: int, root: int) -> limits.Network:
    """Returns the network with one uplink of each kind: that of the root's side, and that of the last nodes."""
    nodes = -(-ranks // per_node)
    kept: dict[tuple[int, int, bool], limits.UplinkLimit] = {}
    for switch, below in zip(spec.switches, spec.nodes_below(), strict=True):
        inside = [node for node in below if node < nodes]
        if switch.parent >= 0 and 0 < len(inside) < nodes:
            rate = switch.uplink_bits_per_s * limits.PAYLOAD_SHARE
            kept.setdefault(
                (len(inside), switch.uplink_bits_per_s, root // per_node in inside),
                limits.UplinkLimit(frozenset(inside), rate),
            )
    return limits.Network([rank // per_node for rank in range(ranks)], spec.port_bytes_per_s * 8, tuple(kept.values()))
