# SPDX-License-Identifier: Apache-2.0
"""The nodes of a cluster, looked at in parallel: what `antiphon doctor --hostfile` finds and says."""

from antiphon.nodes.asking import Survey, survey
from antiphon.nodes.judging import Report, judge
from antiphon.nodes.trying import Trial, trial

__all__ = ["Report", "Survey", "Trial", "judge", "survey", "trial"]
