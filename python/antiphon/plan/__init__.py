# SPDX-License-Identifier: Apache-2.0
"""One plan for a program: where its ranks go, which algorithms it uses, its patterns, what is compressed."""

from antiphon.plan.document import FORMAT, PARTS, Plan, is_plan

__all__ = ["FORMAT", "PARTS", "Plan", "is_plan"]
