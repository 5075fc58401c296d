"""Every deliberate privacy bug is found, and nothing is found where there is none."""

from __future__ import annotations

import inspect
from contextlib import suppress
from functools import cache

import pytest

from psgraph.audit.detectors import DETECTORS, PAIRS, hunt
from psgraph.audit.disk import broken_durability, differing_output
from psgraph.audit.enumeration import broken_phases
from psgraph.audit.kernel_rules import broken_rules
from psgraph.audit.neighbours import (
    SIZES,
    WINDOWS,
    hard_streams,
    neighbouring_streams,
)
from psgraph.audit.reach import Reach
from psgraph.audit.replay import Trial, pairs_for, trials
from psgraph.audit.sampler_battery import check_samplers
from psgraph.audit.transcripts import Divergence, Recorder, measured_stream
from psgraph.engines.threads import LocalEngine
from psgraph.errors import PsgraphError
from psgraph.methods.registry import find_method, method_names
from psgraph.testing.cases import kinds_of
from psgraph_lab.mutants import MUTANTS, Edit, PatchFailed, Swap


def test_there_are_at_least_ninety_mutants_with_names_of_their_own():
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 90


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_every_patch_applies(mutant):
    assert mutant.patches
    assert mutant.detectors
    assert set(mutant.detectors) <= DETECTORS.keys()
    assert mutant.method in method_names()
    for patch in mutant.patches:
        owner, name, replacement = patch.resolved()
        assert replacement is not inspect.getattr_static(owner, name)
        assert not name.isupper()  # a threshold: the bug would open the path to itself


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


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_a_mutant_runs_with_parameters_that_are_audited(mutant):
    variants = find_method(mutant.method)().audit_cases().variants
    assert dict(mutant.parameters) in [{}, *variants.values()]


def pairs_of_kinds(name, pairs):
    """A few small pairs of each kind, apart from undirected graphs without weights."""
    for kind in kinds_of(find_method(name)())[1:]:
        small = {"sizes": SIZES[:1], "windows": WINDOWS[:3], "plain": True}
        yield from neighbouring_streams(pairs, kind=kind, **small)


def record(trial, reach):
    """What a recorded run reaches, until a bug breaks it."""
    pair, method = trial.pair, trial.method
    recorder = Recorder(seed=trial.seed, answers=pair.answers)
    with suppress(Divergence, PsgraphError):
        for measured in measured_stream(
            method, pair.one, pair.guarantee, LocalEngine(), recorder, restarts=pair.restarts
        ):
            reach.took("replay", method, measured.measurement, measured.state)
    reach.asked("replay", recorder.transcripts, pair.kind)


class Plain:
    """What the replay of a method without a bug reaches, as far as somebody asked."""

    def __init__(self, name):
        method = find_method(name)()
        self.left = trials(method, pairs_for(method, PAIRS, thorough=False))
        self.reach = Reach(name)

    def reaches(self, kind, names):
        while not names <= self.reach.kinds(kind):
            if (trial := next(self.left, None)) is None:
                return False
            record(trial, self.reach)
        return True


plain = cache(Plain)


def reached_with(mutant):
    """What the recorded runs of the hard pairs reach."""
    method, reach = find_method(mutant.method)(**dict(mutant.parameters)), Reach(mutant.method)
    for pair in pairs_of_kinds(mutant.method, 3) if mutant.first == "kinds" else hard_streams():
        record(Trial(pair, method, "", 0), reach)
    return reach


@pytest.mark.parametrize(
    "mutant", [each for each in MUTANTS if "replay" in each.detectors], ids=lambda each: each.name
)
def test_a_mutant_opens_no_path_that_the_audit_does_not_take(mutant):
    with mutant.applied():
        reach = reached_with(mutant)
    for kind in ("query", "branch"):
        assert plain(mutant.method).reaches(kind, reach.kinds(kind))


@pytest.fixture
def methods():
    return [find_method(name)() for name in method_names()]


def test_after_the_mutants_everything_is_as_before(methods):
    assert broken_rules() == []
    assert broken_phases(methods) == []
    assert sum(len(method.audit_cases().phases) for method in methods) == 5


def test_samplers_have_their_exact_distributions(methods):
    checks = check_samplers(methods, draws=100_000, few=2_000)
    assert len(checks) == 22
    assert [check.name for check in checks if not check.holds] == []


@pytest.mark.parametrize("name", ["psgraph", "psgraph-plus"])
def test_publications_on_disk_hold(name):
    assert broken_durability(find_method(name)) == []
    pairs = list(neighbouring_streams(63))
    assert [differing_output(name, pair) for pair in pairs[4::31]] == [[], []]


@pytest.mark.parametrize("name", ["tmf", "psgraph-plus"])
def test_publications_of_every_kind_show_the_same_of_neighbours(name):
    for kind in kinds_of(find_method(name)())[1:]:
        [pair] = neighbouring_streams(1, kind=kind, sizes=SIZES[:1], windows=WINDOWS[1:2])
        assert differing_output(name, pair) == []
