# SPDX-License-Identifier: Apache-2.0
"""Replays schedules in other people's simulators, beside the model."""
