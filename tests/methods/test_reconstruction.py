"""Phase 3 against Equations 2–4 written out pair by pair, and what it may not see."""

from __future__ import annotations

import ast
import inspect
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import psgraph
from psgraph.engines.rank_one import Blocks
from psgraph.engines.runner import Runner
from psgraph.engines.sampling import Model, sample
from psgraph.engines.threads import LocalEngine
from psgraph.graph.kind import Edges
from psgraph.graph.parts import EdgeParts
from psgraph.methods.psgraph import reconstruction
from psgraph.methods.psgraph.reconstruction import reconstruct

SOURCES = Path(psgraph.__file__).parent


class Recording:
    """Draws, and keeps the probabilities it is told to draw with."""

    def __init__(self) -> None:
        self.models: tuple[Model, ...] = ()

    def __call__(self, runner: Runner, *models: Model, seed: int) -> EdgeParts:
        self.models = models
        return sample(runner, *models, seed=seed)


def drawn_with(models: tuple[Blocks, ...], nodes: int) -> np.ndarray:
    """The probability of every pair x < y, as the models define it."""
    chances = np.zeros((nodes, nodes))
    for part in models:
        rate_of = {
            (int(a), int(b)): rate
            for a, b, rate in zip(part.heads, part.tails, part.rates, strict=True)
        }
        for x, y in combinations(range(nodes), 2):
            a, b = int(part.labels[x]), int(part.labels[y])
            rate = rate_of.get((a, b), rate_of.get((b, a)))
            if rate is not None:
                assert chances[x, y] == 0  # no pair is in two models
                chances[x, y] = min(1.0, rate * part.weights[x] * part.weights[y])
    return chances


def printed_equations(labels, inner, outer, edges_between) -> np.ndarray:
    """Equations 2–4. `edges_between` maps (a, b) with a < b to v̂_ab."""
    nodes = len(labels)

    def v(a: int, b: int) -> float:
        return edges_between.get((min(a, b), max(a, b)), 0.0)

    communities = range(max(labels) + 1)

    def allotted(x: int, b: int) -> float:
        """ê_x^b = ĥ_x · v̂_ab / Σ_g v̂_ag."""
        a = labels[x]
        total = sum(v(a, g) for g in communities if g != a)
        return outer[x] * v(a, b) / total if total else 0.0

    chances = np.zeros((nodes, nodes))
    for x, y in combinations(range(nodes), 2):
        first, second = (x, y) if labels[x] <= labels[y] else (y, x)
        a, b = labels[first], labels[second]
        if a == b:
            total = sum(inner[z] for z in range(nodes) if labels[z] == a)
            chance = inner[x] * inner[y] / total if total else 0.0
        else:
            total = sum(allotted(z, a) for z in range(nodes) if labels[z] == b)
            chance = allotted(first, b) * allotted(second, a) / total if total else 0.0
        chances[x, y] = min(1.0, chance)
    return chances


def symmetric_formula(labels, inner, outer, edges_between) -> np.ndarray:
    chances = printed_equations(labels, inner, outer, edges_between)
    sums = np.bincount(labels, weights=outer)
    for x, y in combinations(range(len(labels)), 2):
        a, b = sorted((labels[x], labels[y]))
        if a != b:
            total = sums[a] * sums[b]
            chance = edges_between.get((a, b), 0.0) * outer[x] * outer[y] / total if total else 0
            chances[x, y] = min(1.0, chance)
    return chances


@st.composite
def estimates(draw: st.DrawFn):
    nodes = draw(st.integers(2, 9))
    raw = draw(st.lists(st.integers(0, 3), min_size=nodes, max_size=nodes))
    labels = np.unique(raw, return_inverse=True)[1].astype(np.int32)
    degree = st.one_of(st.just(0.0), st.floats(0.01, 12))
    inner = np.array(draw(st.lists(degree, min_size=nodes, max_size=nodes)))
    outer = np.array(draw(st.lists(degree, min_size=nodes, max_size=nodes)))
    pairs = list(combinations(range(int(labels.max()) + 1), 2))
    chosen = sorted(draw(st.sets(st.sampled_from(pairs)))) if pairs else []
    edges_between = {pair: draw(st.floats(0.01, 30)) for pair in chosen}
    return labels, inner, outer, edges_between


def run(labels, inner, outer, edges_between, *, seed=1, **options) -> Edges:
    pairs = np.array(list(edges_between), dtype=np.int32).reshape(-1, 2)
    arguments = {
        "labels": labels,
        "inner_degrees": inner,
        "outer_degrees": outer,
        "community_pairs": (pairs[:, 0], pairs[:, 1]),
        "community_edges": np.array(list(edges_between.values())),
        "edge_count": 5,
        "between": "printed",
        "postprocess": True,
        "engine": LocalEngine(),
        "rng": np.random.default_rng(seed),
    }
    return Edges(*reconstruct(**(arguments | options)).whole())


@pytest.mark.parametrize(
    ("between", "formula"), [("printed", printed_equations), ("symmetric", symmetric_formula)]
)
def test_probabilities_are_those_of_the_equations(between, formula, monkeypatch):
    recorded = Recording()
    monkeypatch.setattr(reconstruction, "sample", recorded)

    @given(estimates())
    @settings(max_examples=100)
    def check(estimate):
        labels = estimate[0]
        run(*estimate, between=between, postprocess=False)
        found = drawn_with(recorded.models, labels.size)
        assert found == pytest.approx(formula(labels.tolist(), *estimate[1:]), rel=1e-9, abs=1e-12)

    check()


def test_the_symmetric_form_keeps_the_edges_between_communities():
    rng = np.random.default_rng(3)
    labels = np.repeat(np.arange(3, dtype=np.int32), 40)
    outer = rng.uniform(1, 3, 120)
    edges_between = {(0, 1): 100.0, (0, 2): 40.0, (1, 2): 70.0}
    expected = symmetric_formula(labels.tolist(), np.zeros(120), outer, edges_between)
    for (a, b), wanted in edges_between.items():
        block = expected[np.ix_(labels == a, labels == b)].sum()
        assert block == pytest.approx(wanted)


@given(estimates(), st.integers(-10, 60), st.integers(0, 99))
@settings(max_examples=100)
def test_the_edge_count_is_hit_exactly(estimate, edge_count, seed):
    nodes = estimate[0].size
    edges = run(*estimate, edge_count=edge_count, seed=seed)
    assert edges.u.size == min(max(edge_count, 0), nodes * (nodes - 1) // 2)
    assert (edges.u < edges.v).all()


@given(estimates(), st.integers(0, 99))
@settings(max_examples=50)
def test_without_postprocessing_the_edge_count_is_not_looked_at(estimate, seed):
    results = [
        run(*estimate, edge_count=count, seed=seed, postprocess=False) for count in (-5, 0, 10**9)
    ]
    for other in results[1:]:
        assert np.array_equal(results[0].u, other.u)
        assert np.array_equal(results[0].v, other.v)


@pytest.mark.parametrize("nodes", [0, 1])
@pytest.mark.parametrize("postprocess", [True, False])
def test_fewer_than_two_nodes_have_no_edges(nodes, postprocess):
    labels = np.zeros(nodes, dtype=np.int32)
    edges = run(labels, np.ones(nodes), np.ones(nodes), {}, edge_count=9, postprocess=postprocess)
    assert edges.u.size == edges.v.size == 0


def test_degrees_come_near_the_targets():
    """With consistent targets the degrees follow them, and the repair brings them closer."""
    rng = np.random.default_rng(9)
    nodes = 2000
    labels = (np.arange(nodes) % 5).astype(np.int32)
    inner = np.minimum((1 - rng.random(nodes)) ** -0.5, 40)
    outer = np.minimum(2 * (1 - rng.random(nodes)) ** -0.5, 80)
    sums = np.bincount(labels, weights=outer)
    edges_between = {(a, b): sums[a] * sums[b] / sums.sum() for a, b in combinations(range(5), 2)}
    edge_count = int((inner.sum() + outer.sum()) / 2)
    errors = {}
    for postprocess in (False, True):
        edges = run(
            labels, inner, outer, edges_between, edge_count=edge_count, postprocess=postprocess
        )
        found = np.bincount(edges.u, minlength=nodes) + np.bincount(edges.v, minlength=nodes)
        assert np.corrcoef(found, inner + outer)[0, 1] > 0.85
        errors[postprocess] = np.abs(found - inner - outer).mean()
    assert errors[True] < errors[False]


# ---- what this module can't see ----


def imports_of(path: Path) -> set[str]:
    """Modules imported at run time, leaving out what only the type checker sees."""
    found: set[str] = set()

    def visit(node: ast.AST) -> None:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            return
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        if isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
        for child in ast.iter_child_nodes(node):
            visit(child)

    visit(ast.parse(path.read_text(encoding="utf-8")))
    return found


def reachable(module: str) -> set[str]:
    """All modules of psgraph that a module imports, and those that they import."""
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        file = SOURCES.parent / name.replace(".", "/")
        path = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
        if name in seen or not path.exists():
            continue
        seen.add(name)
        waiting.extend(imports_of(path))
    return seen


def test_a_snapshot_can_not_be_reached():
    modules = reachable("psgraph.methods.psgraph.reconstruction")
    assert "psgraph.engines.sampling" in modules
    forbidden = ("psgraph.graph", "psgraph.privacy", "psgraph.streams")
    found = {name for name in modules if name.startswith(forbidden)}
    assert found <= {"psgraph.graph.kind"}  # how pairs are packed and numbered, and no graph
    assert "psgraph.graph" in reachable("psgraph.methods.steps.communities")  # it would show


def test_no_argument_is_a_snapshot_or_a_budget():
    signature = str(inspect.signature(reconstruct))
    assert "Snapshot" not in signature
    assert "Budget" not in signature
    assert not {"Snapshot", "Budget", "Sampler"} & set(vars(reconstruction))
