# SPDX-License-Identifier: Apache-2.0
"""Tuning: which cells to measure, who takes part in each, what follows for the rules."""
