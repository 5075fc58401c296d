"""The list of mutants: kernel, PSGraph, PSGraph+, the other methods, the publication."""

from __future__ import annotations

from psgraph.audit.mutants.kernel import KERNEL
from psgraph.audit.mutants.methods import METHODS
from psgraph.audit.mutants.publication import PUBLICATION

__all__ = ["MUTANTS"]

MUTANTS = (*KERNEL, *METHODS, *PUBLICATION)
