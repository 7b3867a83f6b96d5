# SPDX-License-Identifier: Apache-2.0
"""Clusters that are described, not measured: their files, what their hosts can do, and what collectives take there."""
