"""Deliberate privacy bugs. Each must be found, or the auditor is blind to its kind.

Mutants are applied to the running process, one at a time, and taken back. Most change one line of
the real code; some are the mistakes of published implementations. `psgraph audit` finds them
through the entry point group ``psgraph.mutants``.
"""

from __future__ import annotations

from psgraph_lab.mutants.kernel import KERNEL
from psgraph_lab.mutants.kinds import KINDS
from psgraph_lab.mutants.methods import METHODS
from psgraph_lab.mutants.mutant import Edit, Mutant, PatchFailed, Swap, found_first
from psgraph_lab.mutants.owners import OWNERS
from psgraph_lab.mutants.plus import PLUS
from psgraph_lab.mutants.plus_labels import PLUS_LABELS
from psgraph_lab.mutants.plus_owners import PLUS_OWNERS
from psgraph_lab.mutants.plus_schedule import PLUS_SCHEDULE
from psgraph_lab.mutants.publication import PUBLICATION

__all__ = ["MUTANTS", "OWNERS", "Edit", "Mutant", "PatchFailed", "Swap"]

MUTANTS = (
    *KERNEL,
    *METHODS,
    *found_first("kinds", *KINDS),
    *found_first("owners", *OWNERS),
    *PLUS,
    *found_first("owners", *PLUS_OWNERS),
    *PLUS_SCHEDULE,
    *found_first("labels", *PLUS_LABELS),
    *PUBLICATION,
)
