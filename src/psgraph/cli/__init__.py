"""The command ``psgraph``: its subcommands are imported when they are used.

Exit codes: 0 done, 1 error, 2 wrong usage, 3 the privacy budget refused, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

import click

from psgraph._version import __version__
from psgraph.cli.help import LazyGroup
from psgraph.errors import PsgraphError

__all__ = ["main", "run"]

STOPPED = 130

root = LazyGroup(
    name="psgraph",
    commands_in={
        "demo": "demo:command",
        "init": "init:command",
        "publish": "publish:publish",
        "resume": "publish:resume",
        "watch": "watch:command",
        "prepare": "prepare:command",
        "budget": "budget:command",
        "verify": "releases:verify_command",
        "export": "releases:export_command",
        "expect": "expect:command",
        "compare": "compare:command",
        "rehearse": "rehearse:command",
        "plan": "plan:command",
        "audit": "audit:command",
        "serve": "serve:command",
        "push": "remote:push",
        "pull": "remote:pull",
        "methods": "methods:command",
    },
    help=(
        "Publish a graph that changes over time without giving away who is connected to whom.\n\n"
        "At every timestamp a synthetic graph is released; over any w consecutive timestamps all "
        "releases together satisfy ε-edge differential privacy."
    ),
    examples=[
        "psgraph demo",
        "psgraph plan --nodes 10000 --epsilon 1 --window 5",
        "psgraph publish edges.parquet --roster nodes.csv --epsilon 1 --window 5 --out releases",
    ],
)
click.version_option(__version__, message="psgraph %(version)s")(root)


def main() -> NoReturn:
    """Run the command line and leave the process with its exit code.

    Ctrl-C ends a command with exit code 130, unless it was started with SIGINT ignored, as a shell
    starts commands in the background of a script (and `nohup` those that outlive a terminal).
    Then it stays ignored, as is usual on Unix: Ctrl-C is meant for another process.
    """
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a terminal that can't show ε shows a question mark
            stream.reconfigure(errors="replace")
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone (`psgraph … | head`); Python would complain about it on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = code or 1
    sys.exit(code)


def run(arguments: Sequence[str]) -> int:
    """Run one command; every failure becomes one message on stderr and an exit code."""
    try:
        result = root.main(list(arguments), prog_name="psgraph", standalone_mode=False)
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "psgraph"
        _fail(error.format_message(), f"Help: {where} --help")
        return error.exit_code
    except click.ClickException as error:
        _fail(error.format_message())
        return error.exit_code
    except PsgraphError as error:
        _fail(str(error))
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        _fail("stopped")
        return STOPPED
    except MemoryError:
        _fail("not enough memory\nUse a larger machine, or fewer nodes and edges per timestamp.")
        return 1
    except Exception as error:
        if os.environ.get("PSGRAPH_DEBUG") == "1":
            raise
        # Its text may hold anything, private values too; the name of its type can't.
        _fail(
            f"internal error ({type(error).__name__}); this is a bug in psgraph\n"
            "PSGRAPH_DEBUG=1 shows where it happened. That text may contain private values."
        )
        return 1
    return result if isinstance(result, int) else 0


def _fail(message: str, hint: str = "") -> None:
    click.echo(click.style("error: ", fg="red", bold=True) + message, err=True)
    if hint:
        click.echo(click.style(hint, dim=True), err=True)
