"""How help looks, and commands that are imported only when they are needed."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import click

__all__ = ["COMMANDS", "Command", "Group", "LazyGroup"]

COMMANDS = "psgraph.commands"
"""The entry-point group by which other packages add commands."""

_WIDTH = 100


class _Formatter(click.HelpFormatter):
    """Bold headings and coloured names; `click.echo` takes the colours away in a pipe."""

    def write_heading(self, heading: str) -> None:
        super().write_heading(click.style(heading, bold=True))

    def write_dl(self, rows: Any, col_max: int = 34, col_spacing: int = 2) -> None:
        coloured = [(click.style(name, fg="cyan"), words) for name, words in rows]
        super().write_dl(coloured, col_max, col_spacing)


class _Context(click.Context):
    formatter_class = _Formatter


def _settings() -> dict[str, Any]:
    return {
        "help_option_names": ["-h", "--help"],
        "max_content_width": _WIDTH,
        "color": False if os.environ.get("NO_COLOR") else None,
    }


def _write_examples(examples: Sequence[str], formatter: click.HelpFormatter) -> None:
    if examples:
        with formatter.section("Examples" if len(examples) > 1 else "Example"):
            for line in examples:
                formatter.write(f"{'':{formatter.current_indent}}{line}\n")


class Command(click.Command):
    """A command whose help ends with examples."""

    context_class = _Context

    def __init__(self, *arguments: Any, examples: Sequence[str] = (), **options: Any) -> None:
        self.examples = examples
        options["context_settings"] = _settings()
        super().__init__(*arguments, **options)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List required options first, then the others by the heading of their group."""
        sections: dict[str, list[tuple[str, str]]] = {"Required options": [], "Options": []}
        options = [each for each in self.get_params(ctx) if isinstance(each, click.Option)]
        for option in options:
            record = option.get_help_record(ctx)
            if record is not None:
                heading = "Required options" if option.required else heading_of(option)
                sections.setdefault(heading, []).append(record)
        sections["Options"] = sections.pop("Options")  # last
        for heading, records in sections.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        _write_examples(self.examples, formatter)


def heading_of(option: click.Parameter) -> str:
    """Return the heading that help lists an option under; see `psgraph.cli.flags.decorated`."""
    heading: str = getattr(option, "heading", "Options")
    return heading


class Group(click.Group):
    """A group whose help ends with examples and lists its commands in the order they came."""

    context_class = _Context

    def __init__(self, *arguments: Any, examples: Sequence[str] = (), **options: Any) -> None:
        self.examples = examples
        options["context_settings"] = _settings()
        super().__init__(*arguments, **options)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.commands)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        _write_examples(self.examples, formatter)


class LazyGroup(Group):
    """A group of commands that are imported when they are used.

    Commands of other packages are found by the entry-point group ``psgraph.commands``.

    Parameters
    ----------
    commands_in
        psgraph's own commands by name, in the order in which help lists them, each as
        ``module:function`` in ``psgraph.cli``. A command of another package can't replace one.
    """

    def __init__(self, *arguments: Any, commands_in: Mapping[str, str], **options: Any) -> None:
        self.commands_in = commands_in
        super().__init__(*arguments, **options)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        others = {point.name for point in entry_points(group=COMMANDS)}
        return [*self.commands_in, *sorted(others - {*self.commands_in})]

    def get_command(
        self,
        ctx: click.Context,  # noqa: ARG002
        cmd_name: str,
    ) -> click.Command | None:
        if cmd_name in self.commands_in:
            module, _, function = self.commands_in[cmd_name].partition(":")
            own: click.Command = getattr(import_module(f"psgraph.cli.{module}"), function)
            return own
        for point in entry_points(group=COMMANDS, name=cmd_name):
            return _load(point)
        return None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and self.get_command(ctx, name) is None:
            close = get_close_matches(name, self.list_commands(ctx), n=2)
            ctx.fail(
                f"there is no command {name!r}"
                + (f"\nDid you mean {' or '.join(close)}?" if close else "")
            )
        return super().resolve_command(ctx, args)


def _load(point: EntryPoint) -> click.Command:
    """Load another package's command. One that is broken still gets a line in the help."""
    try:
        command = point.load()
        if not isinstance(command, click.Command):
            raise TypeError
    except Exception as error:
        return _broken(point, type(error).__name__)
    return command


def _broken(point: EntryPoint, reason: str) -> click.Command:
    package = point.dist.name if point.dist else point.module
    fact = f"can't be loaded ({reason} in {package})"

    def fail(**_: Any) -> None:
        raise click.ClickException(
            f"the command {point.name} {fact}\nUpdate the package {package}, or uninstall it."
        )

    command = Command(
        point.name,
        callback=fail,
        short_help=fact,
        help=f"This command {fact}.",
        params=[click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED)],
    )
    command.ignore_unknown_options = True  # it fails in the same way with any options
    return command
