# SPDX-License-Identifier: Apache-2.0
"""Draws schedules as pictures: rounds in the terminal, time lines as SVG."""
