"""Every deliberate privacy bug is found, and nothing is found where there is none."""

from __future__ import annotations

import inspect

import pytest

from psgraph.audit.detectors import DETECTORS, hunt
from psgraph.audit.disk import broken_durability, differing_output
from psgraph.audit.kernel_rules import broken_rules
from psgraph.audit.neighbours import neighbouring_streams
from psgraph.audit.phases import broken_phases
from psgraph.audit.sampler_battery import check_samplers
from psgraph.methods.registry import find_method, method_names
from psgraph_lab.mutants import MUTANTS, Edit, PatchFailed, Swap


def test_there_are_at_least_thirty_mutants_with_names_of_their_own():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 30


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_every_patch_applies(mutant):
    assert mutant.patches
    assert mutant.detectors
    assert set(mutant.detectors) <= DETECTORS.keys()
    assert mutant.method in method_names()
    for patch in mutant.patches:
        owner, name, replacement = patch.resolved()
        assert replacement is not inspect.getattr_static(owner, name)


@pytest.mark.parametrize(
    "patch",
    [
        Swap("psgraph.privacy.not_there:Budget.run", lambda real: real),
        Swap("psgraph.privacy.budget:Budget.not_there", lambda real: real),
        Edit("psgraph.privacy.budget:Budget.run", "text that is not there", ""),
        Edit("psgraph.privacy.budget:Budget.run", "self", ""),
    ],
)
def test_a_patch_without_exactly_one_target_fails(patch):
    with pytest.raises(PatchFailed):
        patch.resolved()


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_is_caught(mutant):
    assert hunt(mutant).caught


@pytest.fixture
def methods():
    return [find_method(name)() for name in method_names()]


def test_after_the_mutants_everything_is_as_before(methods):
    assert broken_rules() == []
    assert broken_phases(methods) == []
    assert sum(len(method.audit_cases().phases) for method in methods) == 3


def test_samplers_have_their_exact_distributions(methods):
    checks = check_samplers(methods, draws=100_000, few=2_000)
    assert len(checks) == 22
    assert [check.name for check in checks if not check.holds] == []


@pytest.mark.parametrize("name", ["psgraph", "psgraph-plus"])
def test_publications_on_disk_hold(name):
    assert broken_durability(find_method(name)) == []
    pairs = list(neighbouring_streams(63))
    assert [differing_output(name, pair) for pair in pairs[4::31]] == [[], []]
