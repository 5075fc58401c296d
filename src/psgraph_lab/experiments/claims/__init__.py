"""The paper's comparative statements, each checked against our results."""

from __future__ import annotations

from psgraph_lab.experiments.claims.pages import write_claims_pages
from psgraph_lab.experiments.claims.statements import (
    Statement,
    Verdict,
    check_claims,
    read_statements,
)

__all__ = ["Statement", "Verdict", "check_claims", "read_statements", "write_claims_pages"]
