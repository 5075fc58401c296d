"""Every deliberate privacy bug is found, and nothing is found where there is none."""

from __future__ import annotations

import pytest

from psgraph.audit.directories import differing_output
from psgraph.audit.durability import broken_durability
from psgraph.audit.kernel_rules import broken_rules
from psgraph.audit.mutants import MUTANTS, hunt
from psgraph.audit.neighbours import neighbouring_streams
from psgraph.audit.phases import broken_phases
from psgraph.audit.sampler_battery import check_samplers
from psgraph.methods.base import find_method


def test_there_are_at_least_thirty_mutants_with_names_of_their_own():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 30


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_caught(mutant):
    assert hunt(mutant).caught


def test_after_the_mutants_everything_is_as_before():
    assert broken_rules() == []
    assert broken_phases() == []


def test_samplers_have_their_exact_distributions():
    checks = check_samplers(draws=100_000, few=2_000)
    assert len(checks) == 22
    assert [check.name for check in checks if not check.holds] == []


@pytest.mark.parametrize("name", ["psgraph", "psgraph-plus"])
def test_publications_on_disk_hold(name):
    assert broken_durability(find_method(name)) == []
    pairs = list(neighbouring_streams(63))
    assert [differing_output(name, pair) for pair in pairs[4::31]] == [[], []]
