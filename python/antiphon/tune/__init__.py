# SPDX-License-Identifier: Apache-2.0
"""Tuning: which cells to measure, the contenders of each cell, and the rules that follow."""
