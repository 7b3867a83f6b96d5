# SPDX-License-Identifier: Apache-2.0
"""Finds where each rank of a program should run."""
