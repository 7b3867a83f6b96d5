# SPDX-License-Identifier: Apache-2.0
"""Schedules as pictures: rounds in the terminal, time lines as SVG."""
