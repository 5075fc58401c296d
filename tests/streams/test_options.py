"""The table of input options: one statement makes flags, keys, checks and parameters."""

from __future__ import annotations

import inspect
import typing
from typing import Any

import click
import pytest

import psgraph as pg
from psgraph.cli import root
from psgraph.cli.config import KEYS
from psgraph.errors import InvalidArgument
from psgraph.streams.option import InputOption
from psgraph.streams.options import OPTIONS, InputOptions

FLAGS = {name: option for name, option in OPTIONS.items() if option.flag}
VALUES: dict[str, Any] = {"roster_header": False, "every": "1d"}


def value(option: InputOption) -> Any:
    """A value that counts as given."""
    chosen = option.choices[-1] if option.choices else "x"
    return VALUES.get(option.name, True if option.form == "flag" else chosen)


def flags_of(command: str) -> dict[str, click.Parameter]:
    found = root.get_command(click.Context(root), command)
    assert found is not None
    flags = {str(each.name): each for each in found.params}
    for name, option in FLAGS.items():  # a choice may have a flag for each of its values
        values = [flags.get(f"{name}_{value}".replace("-", "_")) for value in option.switches or ()]
        if values and None not in values:
            flags[name] = next(each for each in values if each is not None)
    return flags


def test_read_stream_has_every_option_as_a_parameter() -> None:
    parameters = inspect.signature(pg.read_stream).parameters
    assert [*parameters] == ["source", *OPTIONS]
    for name, option in OPTIONS.items():
        assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
        assert parameters[name].default == option.default
        assert f"\n{name}\n    " in inspect.cleandoc(pg.read_stream.__doc__ or "")
    assert {*typing.get_type_hints(pg.read_stream)} == {*parameters, "return"}


def test_an_unknown_parameter_is_refused_as_by_any_function() -> None:
    with pytest.raises(TypeError, match="rooster"):
        pg.read_stream("edges.csv", rooster="nodes.csv")  # type: ignore[call-arg]


@pytest.mark.parametrize("command", ["publish", "resume", "prepare", "compare", "init"])
def test_a_command_has_every_option_of_the_table(command: str) -> None:
    assert {*FLAGS} <= {*flags_of(command)}


def test_watch_has_the_options_of_an_inbox() -> None:
    wanted = {name for name, option in FLAGS.items() if "inbox" in option.sources}
    assert wanted == {*flags_of("watch")} & {*FLAGS}


def test_every_option_is_a_key_of_a_configuration_file() -> None:
    keys = {key.option for key in KEYS["input"].values()}
    assert {*FLAGS} <= keys
    assert all(option.comment and option.help for option in FLAGS.values())


@pytest.mark.parametrize("name", [name for name, option in OPTIONS.items() if option.needs])
def test_an_option_that_needs_another_is_refused_alone(name: str) -> None:
    with pytest.raises(InvalidArgument, match=name):
        InputOptions("edges.csv", **{name: value(OPTIONS[name])}).check()


@pytest.mark.parametrize(
    ("name", "other"), [(name, other) for name in OPTIONS for other in OPTIONS[name].excludes]
)
def test_options_that_exclude_each_other_are_refused_together(name: str, other: str) -> None:
    needed = [*OPTIONS[name].needs, *OPTIONS[other].needs]
    given = {each: value(OPTIONS[each]) for each in (name, other, *needed)}
    with pytest.raises(InvalidArgument, match=name) as caught:
        InputOptions("edges.csv", **given).check(spell=lambda option: f"<{option.name}>")
    assert f"<{other}>" in str(caught.value)


@pytest.mark.parametrize("name", [name for name, option in OPTIONS.items() if option.choices])
def test_an_unknown_choice_is_refused(name: str) -> None:
    with pytest.raises(InvalidArgument, match=name):
        InputOptions("edges.csv", **{name: "nonsense"}).check()


@pytest.mark.parametrize("kind", ["table", "events", "files", "graphs", "store"])
def test_an_option_is_refused_with_a_source_it_is_not_for(kind: Any) -> None:
    for name, option in OPTIONS.items():
        needed = {each: value(OPTIONS[each]) for each in option.needs}
        options = InputOptions("edges.csv", **{name: value(option)}, **needed)
        if all(kind in OPTIONS[each].sources for each in (name, *needed)):
            options.check(kind)
        else:
            with pytest.raises(InvalidArgument):
                options.check(kind)


def test_what_is_not_given_is_never_refused() -> None:
    for kind in (None, "table", "events", "files", "graphs", "store", "inbox"):
        InputOptions("edges.csv").check(kind)  # type: ignore[arg-type]
