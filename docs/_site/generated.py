"""MkDocs hook: what comes from the code: pages of commands, tree of errors, table of queries.

It also removes the word by which an example says that the tests only compile it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from inspect import cleandoc
from typing import Any

import click
from mkdocs.structure.files import File

NOT_RUN = re.compile(r"^(```+\w+) no-run$", re.MULTILINE)
#: An option as its heading: how it is written, and the name that its anchor gets.
OPTION = re.compile(r"(?:-\w, )?(--[\w-]+)")
#: Characters of help texts that Markdown would take for its own.
MARKS = re.compile(r"([*_<|\\])")


class Recorder(click.HelpFormatter):
    """Collects the options of a command by heading instead of laying them out."""

    def __init__(self) -> None:
        super().__init__()
        self.sections: dict[str, list[tuple[str, str]]] = {}

    @contextmanager
    def section(self, name: str) -> Iterator[None]:
        self.sections[name] = []
        yield

    def write_dl(self, rows: Sequence[tuple[str, str]], *_: Any, **__: Any) -> None:
        [*self.sections.values()][-1].extend(rows)


def prose(text: str) -> str:
    """A help text as Markdown: options and commands are code, other marks are as they are."""
    parts = _code().split(text)
    return "".join(
        (part if part.startswith("`") else f"`{part}`") if i % 2 else MARKS.sub(r"\\\1", part)
        for i, part in enumerate(parts)
    )


@cache
def _code() -> re.Pattern[str]:
    """What is set as code: what is marked so, options with a setting, and commands."""
    from psgraph.cli import root

    commands = "|".join(root.list_commands(click.Context(root)))
    return re.compile(
        rf"(`[^`]+`|(?<![\w-])--[a-z][\w-]*(?: \w+=[\w.]+)?|\bpsgraph (?:{commands})\b)"
    )


def described(path: tuple[str, ...], command: click.Command, level: int = 1) -> str:
    """A command as Markdown: what it does, each option under an anchor of its own, examples."""
    context = command.make_context(" ".join(path), [], resilient_parsing=True)
    usage = " ".join(["$", " ".join(path), *command.collect_usage_pieces(context)])
    text = cleandoc(command.help or "").replace("\b\n", "").partition("\f")[0]
    parts = [f"{'#' * level} {' '.join(path)}", prose(text), f"```console\n{usage}\n```"]
    if isinstance(command, click.Group):
        below = (
            (name, command.get_command(context, name)) for name in command.list_commands(context)
        )
        parts += [described((*path, name), each, level + 1) for name, each in below if each]
        return "\n\n".join(parts)
    recorder = Recorder()
    command.format_options(context, recorder)
    owner = "-".join(path[2:])  # a page may describe several commands
    for heading, rows in recorder.sections.items():
        parts.append(
            f"{'#' * (level + 1)} {heading}" + (f" {{ #{owner}-options }}" if owner else "")
        )
        for names, words in rows:
            name = click.unstyle(names)
            anchor = OPTION.match(name)
            parts.append(
                f"{'#' * (level + 2)} `{name}` {{ #{owner}{anchor[1] if anchor else name} }}"
            )
            parts.append(prose(words))
    examples = "\n".join(getattr(command, "examples", ()))
    if examples:
        parts += [f"**Example{'s' if chr(10) in examples else ''}**", f"```sh\n{examples}\n```"]
    return "\n\n".join(parts)


def command_pages() -> dict[str, str]:
    """The page of every command by its name, in the order in which help lists them."""
    from psgraph.cli import root

    context = click.Context(root)
    found = {name: root.get_command(context, name) for name in root.list_commands(context)}
    return {name: described(("psgraph", name), each) for name, each in found.items() if each}


def command_table() -> str:
    """All commands with a line about each."""
    from psgraph.cli import root

    context = click.Context(root)
    rows = ["| command | what it does |", "|---|---|"]
    for name in root.list_commands(context):
        command = root.get_command(context, name)
        if command is not None:
            about = prose(command.get_short_help_str(limit=200))
            rows.append(f"| [`psgraph {name}`](commands/{name}.md) | {about} |")
    return "\n".join(rows) + "\n"


def error_tree() -> str:
    """The drawing of all errors in the docstring of their module."""
    from psgraph import errors

    drawing = (errors.__doc__ or "").partition("::\n")[2].partition("\n\nA message")[0]
    return f"```text\n{cleandoc(drawing)}\n```\n"


def queries() -> str:
    """The queries of all methods as a table, from what each query states."""
    from psgraph.methods.registry import find_method, method_names

    asked: dict[type[Any], list[str]] = {}
    for name in method_names():
        for query in find_method(name).queries:
            asked.setdefault(query, []).append(name)
    rows = ["| query | sensitivity | noise | asked by | why | proof |", "|" + "---|" * 6]
    for query, methods in asked.items():
        first, _, rest = cleandoc(query.__doc__ or "").partition("\n")
        why = re.search(r"Privacy: (.*?)(?:\n\n|$)", rest, re.DOTALL)
        stated = query.sensitivity
        cells = (
            first.rstrip("."),
            str(stated) if isinstance(stated, int) else "depends on released values",
            query.noise,
            ", ".join(methods),
            " ".join(why[1].split()) if why else "",
            _proof_link(query.proof),
        )
        rows.append("| " + " | ".join(cells) + " |")
    return "\n".join(rows) + "\n"


def _proof_link(proof: str) -> str:
    """A note of `proofs/`, as a page of the site; other packages name theirs in words."""
    if not proof.startswith("proofs/"):
        return proof
    return f"[{proof.removeprefix('proofs/').removesuffix('.md')}](../{proof})"


PARTS = {
    "<!-- commands -->": command_table,
    "<!-- error tree -->": error_tree,
    "<!-- queries -->": queries,
}


def on_files(files: Any, config: Any) -> Any:
    """Add a page for every command."""
    for name, content in command_pages().items():
        uri = f"reference/commands/{name}.md"
        files.append(File.generated(config, uri, content=content))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the marks of a page."""
    markdown = NOT_RUN.sub(r"\1", markdown)
    for mark, part in PARTS.items():
        if mark in markdown:
            markdown = markdown.replace(mark, part())
    return markdown
