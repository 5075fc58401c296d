"""``psgraph plan`` and ``psgraph methods``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .commands import psgraph
from .plugin import install

QUESTION = ("plan", "--nodes", 10_000, "--epsilon", 1, "--window", 5)
PAPERS = ("--method", "psgraph")


def test_plan_in_numbers() -> None:
    shown = psgraph(*QUESTION, *PAPERS, "--json")
    assert shown.code == 0, shown.err
    plan = json.loads(shown.out)
    assert (plan["epsilon"], plan["window"], plan["epsilon_per_timestamp"]) == ("1", 5, "0.2")
    scales = {(row["case"], row["label"]): row["noise_scale"] for row in plan["measurements"]}
    # ε_s = 0.2, of which 0.01 for the edge count; 0.19 is left, half of it for communities.
    kept, found = "communities kept", "communities found again"
    assert scales[kept, "edges"] == scales[found, "edges"] == pytest.approx(100)
    assert scales[kept, "inner degrees"] == pytest.approx(2 / 0.19)
    assert scales[kept, "outer degrees"] == pytest.approx(2 / 0.095)
    assert scales[kept, "community edges"] == pytest.approx(1 / 0.095)
    assert scales[found, "super-graph edges"] == pytest.approx(1 / 0.0475)
    assert scales[found, "inner degrees"] == pytest.approx(2 / 0.095)


def test_plan_in_words() -> None:
    shown = psgraph(*QUESTION, *PAPERS)
    assert shown.code == 0, shown.err
    words = " ".join(shown.out.split())
    assert "Communities kept" in words
    assert "Communities found again" in words
    assert "inner degrees a node's inner degree 0.19 2 10.5" in words
    assert "noise alone changes it by about 150" in words


def test_plan_says_what_the_noise_means_for_a_graph_of_this_size() -> None:
    shown = psgraph(*QUESTION, *PAPERS, "--mean-degree", 30)
    assert shown.code == 0, shown.err
    lines = [line.split() for line in shown.out.splitlines()]
    # Edge count: scale 100 of 150,000. A degree: 10.5 and 21.1 together are 23.5, times ln 10⁵.
    assert ["1", "5", "301", "–", "572", "0.0667", "%"] in lines
    assert [line[:2] for line in lines if line[-1:] == ["%"]] == [
        ["1", "5"],
        ["0.5", "5"],
        ["2", "5"],
        ["1", "3"],
        ["1", "10"],
    ]


def test_plan_takes_edges_or_a_mean_degree_and_refuses_two_that_differ() -> None:
    by_edges = psgraph(*QUESTION, "--edges", 150_000, "--json")
    by_degree = psgraph(*QUESTION, "--mean-degree", 30, "--edges", 150_001, "--json")
    assert json.loads(by_edges.out)["effects"][0]["window"] == 5
    assert json.loads(by_degree.out)["edges"] == 150_001
    differ = psgraph(*QUESTION, "--mean-degree", 3, "--edges", 150_000)
    assert differ.code == 2
    assert "have a mean degree of 30" in differ.err


def test_plan_points_to_the_rehearsal_of_the_same_size() -> None:
    shown = psgraph(*QUESTION, "--mean-degree", 30)
    command = "psgraph rehearse --nodes 10000 --edges 150000 --epsilon 0.5,1,2 --window 5"
    assert command in shown.out


def test_plan_takes_the_parameters_of_a_method() -> None:
    shown = psgraph(*QUESTION, *PAPERS, "--set", "always_repartition=true", "--json")
    assert shown.code == 0, shown.err
    plan = json.loads(shown.out)
    assert {row["case"] for row in plan["measurements"]} == {"communities found again"}
    assert plan["remarks"] == ["Communities are found again at every timestamp."]


def test_plan_does_not_promise_what_a_method_does_not_provide() -> None:
    chain = psgraph(*QUESTION, "--method", "privhrg")
    assert chain.code == 0, chain.err
    assert "No privacy is promised: the Markov chain" in chain.out
    assert "ε-edge differential privacy" not in chain.out
    local = psgraph(*QUESTION, "--method", "ldpgen", "--set", "ldp_scale=true")
    assert "Private: yes, but with ε = 2 instead of 1" in " ".join(local.out.split())


def test_methods_lists_plug_ins(tmp_path: Path) -> None:
    shown = psgraph("methods", "--json", env=install(tmp_path))
    assert shown.code == 0, shown.err
    methods = {method["name"]: method for method in json.loads(shown.out)["methods"]}
    assert methods["psgraph"]["package"] == "psgraph-dp"
    assert methods["psgraph"]["private"] is True
    assert methods["psgraph"]["parameters"]["threshold"] == "1"
    assert methods["privhrg"]["private"] is False
    assert "Markov chain" in methods["privhrg"]["caveat"]
    assert methods["odd"]["package"] == "odd-method"
    assert methods["odd"]["description"] == "PSGraph under another name."


def test_a_broken_plug_in_does_not_hide_the_others(tmp_path: Path) -> None:
    environment = install(tmp_path)
    (tmp_path / "odd_method.py").write_text("raise RuntimeError('no')")
    shown = psgraph("methods", env=environment)
    assert shown.code == 0, shown.err
    assert "can't be loaded (RuntimeError)" in shown.out
    assert "psgraph" in shown.out
