"""The recipe of the public report: taken from the page and run as it stands."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from html import unescape
from pathlib import Path

import numpy as np
import pytest

from psgraph.errors import VerificationFailed
from psgraph.graph import Roster, Snapshot
from psgraph.methods.registry import find_method
from psgraph.privacy.budget import Charge
from psgraph.privacy.guarantee import WEventPrivacy
from psgraph.publication.certificate import Certificate
from psgraph.publication.publisher import Publisher
from psgraph.publication.verification import verify
from psgraph.reports.public import COMMANDS, SCRIPT, public_page
from tests.publication.in_parts import CHANGES, NODES, InParts

#: Umlauts, another script, a character above U+FFFF, quotes, a backslash, a control character.
TIMES = ["März „2024“", "二月", '\U0001f600 \\ "x"', "de\u0301but\u2028\x7f"]


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("by-hand") / "releases"
    rng = np.random.default_rng(3)
    roster = Roster.range(40)
    with Publisher(find_method("tmf")(), WEventPrivacy("1/3", 3), out=out) as publisher:
        for time in TIMES:
            ends = rng.integers(0, 40, size=(2, 60))
            publisher.publish(Snapshot(roster, *ends[:, ends[0] != ends[1]], time=time))
    return out


@pytest.fixture(scope="module")
def recipe(published: Path) -> tuple[str, str]:
    """The script and the commands, as a reader copies them from the page."""
    page = public_page(published, verify(published)).html()
    own = page.partition("Check it yourself</h2>")[2]
    texts = [unescape(text) for text in re.findall(r"<pre>(.*?)</pre>", own, re.DOTALL)]
    (script,) = [text for text in texts if text.startswith("import ")]
    (commands,) = [text for text in texts if "check.py" in text]
    return script, commands


@pytest.fixture
def copy(published: Path, tmp_path: Path, recipe: tuple[str, str]) -> Path:
    """The published files, without the ledger, with the script beside them."""
    made = tmp_path / "copy"
    shutil.copytree(published, made, ignore=shutil.ignore_patterns("ledger*"))
    (made / "check.py").write_text(recipe[0])
    return made


def run(directory: Path, commands: str) -> subprocess.CompletedProcess[str]:
    commands = commands.replace("python3 ", f"{sys.executable} ")
    if shutil.which("sha256sum") is None:
        commands = commands.replace("sha256sum", "shasum -a 256")
    return subprocess.run(
        ["sh", "-c", commands], cwd=directory, capture_output=True, text=True, check=False
    )


def test_the_recipe_of_the_page_confirms_what_was_published(copy, recipe):
    done = run(copy, recipe[1])
    assert done.returncode == 0, done.stderr
    last = json.loads((copy / "000003.json").read_text())["digest"]
    assert done.stderr.strip() == f"4 certificates checked, last digest {last}"
    assert len((copy / "checksums.txt").read_text().splitlines()) == 2 * len(TIMES)


def changed(directory: Path, number: int, change: Callable[[dict], None], *, sign: bool) -> None:
    """Change a certificate; with `sign`, give it the digest that fits."""
    path = directory / f"{number:06d}.json"
    content = json.loads(path.read_text())
    change(content)
    if sign:
        content.pop("digest")
        text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        content["digest"] = hashlib.sha256(text.encode()).hexdigest()
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False))


@pytest.mark.parametrize(
    ("number", "change", "sign", "said"),
    [
        (1, lambda content: content.update(time="Ma\u0308rz"), False, "the digest is wrong"),
        (2, lambda content: content.update(private=False), False, "the digest is wrong"),
        (1, lambda content: content.update(edges=7), True, "000002.json: it does not follow"),
        (3, lambda content: content.update(epsilon="3"), True, "epsilon has changed"),
        (
            3,
            lambda content: content["spent"].update(timestamp="1/3"),
            True,
            "its window spent too much",
        ),
    ],
)
def test_the_recipe_finds_a_changed_certificate(copy, recipe, number, change, sign, said):
    changed(copy, number, change, sign=sign)
    done = run(copy, recipe[1])
    assert done.returncode != 0
    assert said in done.stderr


def charges(*charged: tuple[Fraction | int, str, tuple[int, ...]]) -> tuple[Charge, ...]:
    return tuple(Charge("laplace", "edges", Fraction(e), 1, (), p, split=s) for e, p, s in charged)


SPENT = Fraction(1, 9)  # of a third, at each of three timestamps
CONTRADICTIONS = {
    "a charge of 50": {"charges": charges((50, "", ()))},
    "a charge below zero": {"charges": charges((50, "", ()), (-50, "", ()))},
    "two splits": {"charges": charges((SPENT, "a", ()), (SPENT, "b", (1,)))},
    "a split in a part": {
        "charges": charges((SPENT, "a / x", (0, 0)), (SPENT, "a / y", (0, 1)), (SPENT, "b", (0,)))
    },
    "a split without a part": {"charges": charges((SPENT, "a", (0, 1)))},
    "less than its charges": {"spent": Fraction(0), "window_spent": 2 * SPENT},
    "a larger window": {"window_spent": 4 * SPENT},
    "a smaller window": {"window_spent": SPENT},
    "a window that spends too much": {"spent": 2 * SPENT, "window_spent": 4 * SPENT},
}


def restated(directory: Path, number: int, stated: dict) -> None:
    """Let a certificate state something else, with a digest that fits."""
    path = directory / f"{number:06d}.json"
    path.write_text(replace(Certificate.from_json(path.read_bytes()), **stated).to_json())


@pytest.mark.parametrize("stated", CONTRADICTIONS.values(), ids=CONTRADICTIONS.keys())
def test_a_certificate_that_contradicts_itself_is_refused_without_a_ledger(copy, recipe, stated):
    restated(copy, 3, stated)
    with pytest.raises(VerificationFailed):
        verify(copy)
    done = run(copy, recipe[1])
    assert done.returncode != 0
    assert done.stderr.startswith("000003.json: ")


def test_parts_of_one_split_cost_as_much_as_the_most_expensive(copy, recipe):
    parts = charges((SPENT, "a", ()), (SPENT / 2, "b / x", ()), (SPENT / 2, "b", ()))
    restated(copy, 3, {"charges": parts})
    assert verify(copy).releases == 4
    assert run(copy, recipe[1]).returncode == 0


@pytest.fixture(scope="module")
def in_parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Releases of which each is a directory of parts."""
    out = tmp_path_factory.mktemp("in-parts") / "releases"
    roster, rng = Roster.range(NODES), np.random.default_rng(3)
    with Publisher(InParts(), WEventPrivacy("20", 2), out=out) as publisher:
        for _ in range(2):
            publisher.publish(Snapshot(roster, *rng.integers(0, NODES, size=(2, 40))))
    (out / "check.py").write_text(SCRIPT)
    return out


def test_the_recipe_confirms_graphs_in_parts(in_parts, tmp_path):
    copy = shutil.copytree(in_parts, tmp_path / "copy")
    done = run(copy, COMMANDS)
    assert done.returncode == 0, done.stderr
    assert "2 certificates checked" in done.stderr


@pytest.mark.parametrize("change", [name for name in CHANGES if name != "a file beside it"])
def test_the_recipe_finds_what_was_done_to_parts(in_parts, tmp_path, change):
    copy = shutil.copytree(in_parts, tmp_path / "copy")
    CHANGES[change](copy / "000000")
    assert run(copy, COMMANDS).returncode != 0


def test_the_recipe_finds_a_changed_graph_and_a_missing_release(copy, recipe):
    graph = copy / "000002.parquet"
    graph.write_bytes(graph.read_bytes()[:-1] + b"?")
    done = run(copy, recipe[1])
    assert done.returncode != 0
    assert "000002.parquet" in done.stdout
    (copy / "000000.json").unlink()
    assert "it does not follow the one before" in run(copy, recipe[1]).stderr
