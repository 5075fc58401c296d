"""INPUT and its options, made from the table in `psgraph.streams.options`.

A command gets one `InputOptions`, checked before any file is opened.
"""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from psgraph._runtime.numbers import joined
from psgraph.cli.flags import Checked, decorated
from psgraph.cli.screen import note
from psgraph.errors import InvalidArgument
from psgraph.privacy.unit import Edge, Unit
from psgraph.streams.option import InputOption, SourceKind
from psgraph.streams.options import DROPPING, OPTIONS, InputOptions

if TYPE_CHECKING:
    from psgraph.graph.kind import Kind
    from psgraph.streams import Stream
    from psgraph.streams.input import Prepared
    from psgraph.streams.overflow import SnapshotStore

__all__ = [
    "check_input",
    "choose_input",
    "command_line",
    "declared_kind",
    "declared_unit",
    "inbox_options",
    "input_option",
    "input_options",
    "is_prepared",
    "open_input",
    "refuse_private_files",
    "silence_warnings",
    "tell_curator",
    "tell_of_input",
]

Function = TypeVar("Function", bound=Callable[..., Any])

_WATCHED = [each for each in OPTIONS.values() if each.flag and "inbox" in each.sources]
_ALL = [each for each in OPTIONS.values() if each.flag]


# ---- from the table to click ----


def _period(text: str) -> str:
    from psgraph.streams.periods import Period

    return str(Period.parse(text))


def input_option(name: str, words: str = "") -> Callable[[Function], Function]:
    """Return one option of the table, with its own help or other words."""
    option = OPTIONS[name]
    if option.switches:
        return _switches(option)
    shown: dict[str, Any] = {"help": words or option.help}
    if option.form == "flag":
        shown["is_flag"] = True
    elif option.form == "choice":
        shown["type"] = click.Choice(option.choices)
    else:
        shown["metavar"] = option.metavar
    if option.form == "period":
        shown["type"] = Checked("period", _period)
    if isinstance(option.default, str):
        shown |= {"default": option.default, "show_default": True}
    return click.option(option.flag, option.name, **shown)


def _switches(option: InputOption) -> Callable[[Function], Function]:
    """Return a flag for each value of a choice. Click would take the last of several."""

    def choose(context: click.Context, flag: click.Parameter, given: bool) -> None:
        value, chosen = flag.opts[0], context.params.get(option.name)
        if given and chosen is not None:  # those that are given come first
            raise click.UsageError(
                f"--{chosen} and {value} contradict each other\nGive one of them.", context
            )
        if given:
            chosen = value.removeprefix("--")
        elif chosen is None:
            chosen = (context.default_map or {}).get(option.name)
            if chosen is not None and chosen not in option.switches:
                raise click.UsageError(
                    f"{option.config_key} = {chosen!r} is none of {joined([*option.switches])}",
                    context,
                )
        context.params[option.name] = chosen

    def add(function: Any) -> Any:
        for value, words in reversed([*option.switches.items()]):
            name = f"{option.name}_{value}".replace("-", "_")
            shown: dict[str, Any] = {"is_flag": True, "expose_value": False, "help": words}
            function = click.option(f"--{value}", name, callback=choose, **shown)(function)
        return function

    return add


def input_options(function: Function) -> Callable[..., Any]:
    """Add INPUT and its options, passed to the command as `source`."""
    argument = click.argument("path", metavar="INPUT")
    return _passed(function, "path", [argument, *(input_option(each.name) for each in _ALL)], None)


def inbox_options(function: Function) -> Callable[..., Any]:
    """Add INBOX and the options of its files, passed to the command as `source`."""
    argument = click.argument("inbox", metavar="INBOX")
    options = [input_option(each.name, each.watch_help) for each in _WATCHED]
    return _passed(function, "inbox", [argument, *options], "inbox")


def _passed(function: Any, argument: str, options: list[Any], kind: SourceKind | None) -> Any:
    @functools.wraps(function)
    def with_source(**given: Any) -> Any:
        chosen = {name: given.pop(name) for name in OPTIONS if name in given}
        source = choose_input(given.pop(argument), chosen)
        check_input(source, kind)
        return function(source=source, **given)

    return decorated(with_source, options, heading="Input options")


def choose_input(path: str, chosen: dict[str, Any]) -> InputOptions:
    """Return the options that values of the command line, or of a file, stand for."""
    values = dict(chosen)
    for name, option in OPTIONS.items():
        if name in values and option.form == "flag":
            values[name] = option.switches_to if values[name] else option.default
    return InputOptions(path, **values)


# ---- cheap checks ----


def check_input(source: InputOptions, kind: SourceKind | None = None) -> None:
    """Refuse options that contradict each other, and nodes that were not declared."""
    try:
        source.check(kind, spell=_flag)
    except InvalidArgument as error:
        raise click.UsageError(str(error)) from None
    try:
        source.graph_kind()
        source.unit()
    except InvalidArgument as error:
        raise click.UsageError(str(error)) from None
    declared = source.roster is not None or source.left is not None or source.roster_from_edges
    if declared or is_prepared(source):
        return
    if Path(source.source).is_dir():
        from psgraph.stores import refuse_unfinished

        refuse_unfinished(Path(source.source))  # a store that is not complete needs no roster
    raise click.UsageError(
        "who are the nodes? That must not be guessed from private edges. Give one of\n"
        "  --roster FILE         the public list of nodes, also of those without an edge\n"
        "                        (--left FILE --right FILE for two-sided graphs)\n"
        "  --roster-from-edges   the nodes that have an edge; this makes node presence public\n"
        "                        at every timestamp (it is what the paper does)"
    )


def _flag(option: InputOption) -> str:
    return option.flag or option.name


def is_prepared(source: InputOptions) -> bool:
    """Whether INPUT is a store, which knows its nodes; an address always is one."""
    path = str(source.source)
    return "://" in path or (Path(path) / "psgraph-store.json").is_file()


def declared_kind(source: InputOptions) -> Kind | None:
    """Return the kind that the options say; None for a store, which has its own."""
    return None if is_prepared(source) else source.graph_kind()


def declared_unit(source: InputOptions) -> Unit:
    """Return what is protected, as the options or the store say."""
    if not is_prepared(source):
        return source.unit() or Edge()
    from psgraph.streams.input import unit_of_store

    return unit_of_store(source.source) or Edge()


def refuse_private_files(source: InputOptions, *directories: Path | None) -> None:
    """Refuse a curator's file among the releases, which are meant to be published."""
    for option in source.given():
        for directory in directories:
            if option.form != "curator file" or directory is None:
                continue
            if Path(getattr(source, option.name)).resolve().is_relative_to(directory.resolve()):
                raise click.UsageError(
                    f"{option.flag}: that file holds private data and must not be stored in "
                    f"{directory}\nChoose a path outside it."
                )


# ---- use ----


def open_input(source: InputOptions, store: SnapshotStore | None = None) -> Stream:
    """Read the roster and the head of INPUT; snapshots are read while iterating."""
    from psgraph.streams import read_stream

    silence_warnings(source)
    return read_stream(source.source, **{**source.keywords(), "store": store})


def command_line(source: InputOptions) -> list[str]:
    """Return the options as they are written on a command line, without the curator's files."""
    words = []
    for option in source.given():
        if option.flag and option.form != "curator file":
            value = getattr(source, option.name)
            words.append(f"--{value}" if option.switches else option.flag)
            if option.form != "flag" and not option.switches:
                words.append(str(value))
    return words


def silence_warnings(source: InputOptions | None = None) -> None:
    """Say what a stream warns about as a note instead, now or in `tell_of_input`."""
    for message in ("Held back", "Leading zeros", "Edges with an end outside the roster"):
        warnings.filterwarnings("ignore", message=message)
    if source is not None and source.unknown_nodes == "drop":
        note(DROPPING)


def tell_of_input(stream: Stream | Prepared) -> None:
    """Say what was held back, and on a terminal which rows were left out."""
    from psgraph.streams.stream import held_back_note

    if stream.held_back is not None:
        note(held_back_note(stream.held_back))
    for told in stream.curator_notes:
        tell_curator(told)


def tell_curator(told: str) -> None:
    """Say what depends on private rows: on a terminal only, not into a log."""
    if sys.stderr.isatty():
        note(f"{told} (For the curator only: this depends on the edges.)")
