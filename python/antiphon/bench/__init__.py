# SPDX-License-Identifier: Apache-2.0
"""Runs programs that measure (here, on the nodes of a hostfile or in a lab), and reads their results."""
