"""docs/how-to/sign-off.md: every number on the page, computed."""

from __future__ import annotations

import re
from fractions import Fraction
from math import ceil, exp, log10
from pathlib import Path

import pytest

from psgraph._runtime.numbers import power_of_ten
from psgraph.privacy.guarantee import PureEpsilon

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/how-to/sign-off.md").read_text()
TEXT = " ".join(PAGE.split())


def table(heading: str) -> list[list[str]]:
    """The cells of the table whose first row starts with `heading`, with that row."""
    lines = PAGE[PAGE.index(f"| {heading} |") :].split("\n\n")[0].splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [rows[0], *rows[2:]]


def written(value: float) -> str:
    """Two decimals; two digits of a small number, three of a large one."""
    if value < 0.1:
        return f"{value:.2g}"
    if value < 10:
        return f"{value:.2f}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def posterior(prior: float, epsilon: float) -> float:
    """What an attacker believes at most, by Bayes' theorem with a likelihood ratio of e^ε."""
    return prior * exp(epsilon) / (prior * exp(epsilon) + 1 - prior)


def test_the_factors():
    for epsilon, most, least in table("ε")[1:]:
        assert most == written(exp(float(epsilon)))
        assert least == written(exp(-float(epsilon)))


def test_prior_and_posterior():
    heading, *rows = table("before")
    epsilons = [float(name.removeprefix("ε = ")) for name in heading[1:]]
    assert len(rows) == 4
    for prior, *others in rows:
        before = float(prior.removesuffix(" %")) / 100
        assert others == [f"{100 * posterior(before, epsilon):.1f} %" for epsilon in epsilons]


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("prior", [0.01, 0.5])
def test_no_answer_of_a_private_mechanism_convinces_more_than_the_table_says(prior, epsilon):
    """Randomised response reaches the limit; any count with Laplace noise stays below it."""
    keeps = exp(epsilon) / (1 + exp(epsilon))
    believed = prior * keeps / (prior * keeps + (1 - prior) * (1 - keeps))
    assert believed == pytest.approx(posterior(prior, epsilon))


@pytest.mark.parametrize("page", ["README.md", "PRIVACY.md", "docs/explanation/promise.md"])
def test_what_pages_say_of_epsilon_is_what_reports_say(page):
    text = " ".join((ROOT / page).read_text().split())
    quoted = re.findall(r"([\d.]+ %)(?: sure)?(?: afterwards)? at ε = ([\d.]+)", text)
    assert len(quoted) == 3
    for certainty, epsilon in quoted:
        assert certainty == PureEpsilon(Fraction(epsilon)).certainty


def test_reports_and_the_table_agree():
    (heading, *_), even = table("before"), next(row for row in table("before") if row[0] == "50 %")
    for name, most in zip(heading[1:], even[1:], strict=True):
        assert PureEpsilon(Fraction(name.removeprefix("ε = "))).certainty == most


@pytest.mark.parametrize("epsilon", ["1e-9", "1e-4", "0.01", "3", "8", "16", "20"])
def test_no_loss_is_rounded_to_certainty_or_to_nothing(epsilon):
    stated = Fraction(PureEpsilon(Fraction(epsilon)).certainty.removesuffix(" %")) / 100
    assert float(stated) == pytest.approx(posterior(0.5, float(epsilon)), abs=5e-4)
    assert Fraction(1, 2) <= stated < 1


def test_the_person_with_200_contacts():
    group = 200 * Fraction("0.5")
    assert f"200 × 0.5 = {group}" in TEXT
    assert f"a factor of {power_of_ten(exp(group))}" in TEXT
    assert log10(exp(group)) > 43
    assert f"0.5 / 200 = {float(Fraction('0.5') / 200)}" in TEXT


def test_the_edge_that_lives_30_days():
    windows = ceil(Fraction(30, 7))
    epsilon = windows * Fraction("0.5")
    assert f"⌈30 / 7⌉ = {windows} windows" in TEXT
    assert f"{windows} × 0.5 = {float(epsilon)}, a factor of {written(exp(epsilon))}" in TEXT
    ends, instead = (f"{100 * posterior(0.1, each):.1f} %" for each in (epsilon, 0.5))
    assert f"believed in it with 10 % may end at {ends}, instead of {instead}" in TEXT
    assert ceil(Fraction(30, 30)) == 1


def test_the_factor_that_is_quoted_is_that_of_the_table():
    (quoted,) = re.findall(r"at ε = 0.5 every conclusion is at most ([\d.]+) times", TEXT)
    assert quoted == written(exp(0.5))


def test_fields_of_the_checklist_are_fields_of_a_certificate(tmp_path):
    import json

    import psgraph as pg

    with pg.Publisher(pg.TmF(), pg.WEventPrivacy("1", window=2), out=tmp_path / "out") as publisher:
        list(publisher.publish_all(pg.demo_stream(nodes=300, timestamps=1)))
    content = json.loads((tmp_path / "out" / "000000.json").read_text())
    named = re.findall(r"`(\w+)`(?: and the times)? in the certificate", TEXT)
    assert set(named) >= {"epsilon", "window", "roster", "times"}
    assert {"private", "provides_epsilon", *named} - {"times"} <= set(content)
