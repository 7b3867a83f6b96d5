# SPDX-License-Identifier: Apache-2.0
"""Measuring a machine: what to measure (plan), how it is run (session), what the samples mean (the other modules)."""
