# SPDX-License-Identifier: Apache-2.0
"""Explains what Antiphon would use for a call, why, and what it would send."""
