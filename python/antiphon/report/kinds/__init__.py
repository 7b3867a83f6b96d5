# SPDX-License-Identifier: Apache-2.0
"""Kinds of documents there is a report for: one module each."""
