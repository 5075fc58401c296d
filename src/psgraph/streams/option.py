"""What is known about one option of an input, and which options contradict each other."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from psgraph.errors import InvalidArgument

if TYPE_CHECKING:
    from psgraph.privacy.unit import Owner

__all__ = ["InputOption", "SourceKind", "chosen_owner", "refuse_contradictions"]

SourceKind = Literal["table", "events", "files", "graphs", "store", "inbox"]
Form = Literal["text", "flag", "choice", "path", "times", "period", "number", "curator file"]

_SOURCES: Mapping[SourceKind, str] = {
    "table": "a table t, u, v",
    "events": "a table of events",
    "files": "one file per timestamp",
    "graphs": "a list of graphs",
    "store": "a store",
    "inbox": "an inbox",
}
_EVERYWHERE = frozenset(_SOURCES)


@dataclass(frozen=True)
class InputOption:
    """What is known about an option beside its type.

    Attributes
    ----------
    doc
        The paragraph in the documentation of `read_stream`.
    flag
        Its name on the command line; empty for an option of Python only.
    help
        What ``--help`` says.
    form
        What it takes. A "curator file" holds private values: it must not be among releases.
    comment, example
        What `psgraph init` writes: above the key, and as its value if it is not given.
    sources
        The kinds of sources it can be used with.
    needs, excludes
        Options that have to be given as well, or must not, with remedies that name {options}.
    watch_help
        What ``psgraph watch --help`` says, where that differs. It `needs` no other option there.
    switches_to
        The value that a flag stands for.
    switches
        For a choice that is made by flags: what ``--help`` says about the flag of each value.
    config_key
        Its name in a configuration file, where that is not the name of its flag.
    """

    doc: str
    flag: str = ""
    help: str = ""
    metavar: str | None = None
    form: Form = "text"
    choices: tuple[str, ...] = ()
    comment: str = ""
    example: str | bool = True
    sources: Collection[SourceKind] = _EVERYWHERE
    needs: Mapping[str, str] = field(default_factory=dict)
    excludes: Mapping[str, str] = field(default_factory=dict)
    watch_help: str = ""
    switches_to: bool = True
    switches: Mapping[str, str] = field(default_factory=dict)
    config_key: str = ""
    name: str = ""
    default: Any = None

    @property
    def key(self) -> str:
        """Its name in a configuration file."""
        return self.config_key or self.flag.removeprefix("--").replace("-", "_")

    def is_given(self, value: Any) -> bool:
        """Whether a value was chosen by the user."""
        if isinstance(self.default, str):
            return bool(value != self.default)
        if isinstance(value, bool):
            return value == self.switches_to
        return value is not None


def refuse_contradictions(
    given: Mapping[str, tuple[InputOption, Any]],
    names: Mapping[str, str],
    kind: SourceKind | None,
) -> None:
    """Refuse unknown choices and options that contradict each other or the source.

    Parameters
    ----------
    given
        The options that were chosen, with their values.
    names
        How a message names each option of the table.
    kind
        What the source is, if that is known.

    Raises
    ------
    InvalidArgument
        The options can't be used together.
    """
    for name, (option, value) in given.items():
        shown = names[name]
        if option.choices and value not in option.choices:
            raise InvalidArgument(
                f"{shown}={value!r} is unknown\nGive one of: {', '.join(option.choices)}."
            )
        for other, remedy in option.excludes.items():
            if other in given:
                fact = f"{names[other]} and {shown} contradict each other"
                raise InvalidArgument(f"{fact}\n{remedy.format(**names)}")
        for other, remedy in option.needs.items():
            if other not in given and not (kind == "inbox" and option.watch_help):
                fact = f"{shown} needs {names[other]}"
                raise InvalidArgument(f"{fact}\n{remedy.format(**names)}")
    for name, (option, _) in given.items():
        if kind is not None and kind not in option.sources:
            raise InvalidArgument(
                f"{names[name]} can't be used with {_SOURCES[kind]}\nLeave it out."
            )


def chosen_owner(
    column: str, at_most: int | str, *, flows: bool, ordered: bool, listed: bool
) -> Owner:
    """Return the owner that a column and a bound stand for.

    Parameters
    ----------
    ordered
        Whether the first end of an edge differs from the second.
    listed
        Whether a roster lists the nodes, also those without an edge.

    Raises
    ------
    InvalidArgument
        An edge has no owner, the nodes would show who the owners are, or the bound is no integer.
    """
    from psgraph.privacy.unit import MOST_OF_AN_OWNER, Owner

    name, text = column.strip(), str(at_most)
    side = name.lower() in ("u", "v")
    whole = text.isascii() and text.isdecimal() and len(text) < 12
    if not whole or not 1 <= int(text) <= MOST_OF_AN_OWNER:
        raise InvalidArgument(
            f"at most {at_most!r} edges of an owner can't be used\n"
            f"Give an integer from 1 to {MOST_OF_AN_OWNER:,}: at_most (--at-most).",
            code="at_most",
        )
    if not name:
        raise InvalidArgument("the owner is the name of a column, not an empty text", code="owner")
    if side and not ordered:
        raise InvalidArgument(
            "both ends are people: an edge of an undirected stream has no owner\n"
            "Give a column that says whose row it is; publish who did what (--directed --owner u); "
            "or protect edges.",
            code="owner",
        )
    if side and not listed:
        raise InvalidArgument(
            "with the nodes taken from the edges everyone would see which owners have rows\n"
            "Give a roster that lists all nodes, whether or not they have an edge.",
            code="owner",
        )
    return Owner(name.lower() if side else name, int(text), flows)
