"""MkDocs hook: what comes from the code: help of commands, tree of errors, table of queries.

It also removes the word by which an example says that the tests only compile it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from inspect import cleandoc
from typing import Any

import click

WIDTH = 84
NOT_RUN = re.compile(r"^(```+\w+) no-run$", re.MULTILINE)


def commands(
    command: click.Command, path: tuple[str, ...] = ("psgraph",)
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield a command and all commands below it, with the words that call them."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None:
                yield from commands(below, (*path, name))


def help_of(path: tuple[str, ...], command: click.Command) -> str:
    """What the command prints for `--help`, without colours."""
    context = command.make_context(" ".join(path), [], resilient_parsing=True)
    context.terminal_width = context.max_content_width = WIDTH
    return click.unstyle(command.get_help(context)).rstrip()


def reference() -> str:
    """The reference as Markdown: one section for each command."""
    from psgraph.cli import root

    sections = []
    for path, command in commands(root):
        level = "#" * min(len(path) + 1, 3)
        sections.append(f"{level} {' '.join(path)}\n\n```text\n{help_of(path, command)}\n```\n")
    return "\n".join(sections)


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
    "<!-- commands -->": reference,
    "<!-- error tree -->": error_tree,
    "<!-- queries -->": queries,
}


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the marks of a page."""
    markdown = NOT_RUN.sub(r"\1", markdown)
    for mark, part in PARTS.items():
        if mark in markdown:
            markdown = markdown.replace(mark, part())
    return markdown
