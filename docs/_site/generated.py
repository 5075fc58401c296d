"""MkDocs hook: parts of pages that come from the code: help of the commands, tree of errors.

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


PARTS = {"<!-- commands -->": reference, "<!-- error tree -->": error_tree}


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Replace the marks of a page."""
    markdown = NOT_RUN.sub(r"\1", markdown)
    for mark, part in PARTS.items():
        if mark in markdown:
            markdown = markdown.replace(mark, part())
    return markdown
