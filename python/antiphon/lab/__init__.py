# SPDX-License-Identifier: Apache-2.0
"""An Ethernet cluster emulated on one machine with Linux network namespaces."""

from antiphon.lab.clusters import DEFAULT_CLUSTER, cluster_names, load_cluster
from antiphon.lab.lab import Lab, RunResult, take_down
from antiphon.lab.spec import ClusterSpec, Loss, Switch, Uplink

__all__ = [
    "DEFAULT_CLUSTER", "ClusterSpec", "Lab", "Loss", "RunResult", "Switch", "Uplink",
    "cluster_names", "load_cluster", "take_down",
]  # fmt: skip
