"""Shell completion, as docs/how-to/install.md describes it."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from psgraph.cli.compare import command as compare
from psgraph.cli.publish import publish

from .commands import psgraph

PAGE = Path(__file__).parents[2] / "docs/how-to/install.md"


def test_the_script_is_produced_for_every_shell_that_the_page_names() -> None:
    shells = re.findall(r"_PSGRAPH_COMPLETE=(\w+)_source psgraph", PAGE.read_text())
    assert shells == ["bash", "zsh", "fish"]
    for shell in shells[1:]:  # for bash, click first asks the installed one for its version
        done = psgraph(env={"_PSGRAPH_COMPLETE": f"{shell}_source"})
        assert done.code == 0, done.err
        assert f"_PSGRAPH_COMPLETE={shell}_complete" in done.out


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("psgraph pl", {"plan"}),
        ("psgraph plan --mean", {"--mean-degree"}),
        ("psgraph plan --method psgraph", {"psgraph", "psgraph-plus"}),
    ],
)
def test_commands_and_options_are_completed(words: str, found: set[str]) -> None:
    last = str(len(words.split()) - 1)
    given = {"_PSGRAPH_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": last}
    done = psgraph(env=given)
    assert {line.partition(",")[2] for line in done.out.splitlines()} == found


def test_installed_engines_and_groups_are_offered_and_others_refused(monkeypatch) -> None:
    monkeypatch.setattr("psgraph.engines.runner.engine_names", lambda: ["local", "abacus"])
    engine = next(each for each in publish.params if each.name == "engine")
    context = click.Context(publish)
    assert [each.value for each in engine.type.shell_complete(context, engine, "a")] == ["abacus"]
    assert engine.type.convert("abacus", engine, context) == "abacus"
    with pytest.raises(click.BadParameter):
        engine.type.convert("dask", engine, context)
    more = next(each for each in compare.params if each.name == "more")
    assert more.type.convert("all", more, context) == "all"
    with pytest.raises(click.BadParameter):
        more.type.convert("nothing", more, context)
