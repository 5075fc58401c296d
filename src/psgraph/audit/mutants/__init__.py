"""Deliberate privacy bugs. Each must be found, or the auditor is blind to its kind.

Mutants are applied to the running process, one at a time, and taken back. Most are one line of
the real code changed; some are the mistakes of published implementations.
"""

from __future__ import annotations

from psgraph.audit.mutants.catalogue import MUTANTS
from psgraph.audit.mutants.hunting import Hunt, hunt
from psgraph.audit.mutants.mutant import Mutant
from psgraph.audit.mutation import Patch

__all__ = ["MUTANTS", "Hunt", "Mutant", "Patch", "hunt"]
