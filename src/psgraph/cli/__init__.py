"""The command ``psgraph``: its subcommands are imported when they are used.

Exit codes: 0 done, 1 error, 2 wrong usage, 3 the privacy budget refused, 4 waiting for input,
130 stopped by Ctrl-C.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any, NoReturn

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
        "check": "check:command",
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
        "worker": "worker:command",
        "backup": "backup:command",
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
    _show_warnings_as_notes()
    code = run(sys.argv[1:])
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone (`psgraph … | head`); Python would complain about it on its way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = code or 1
    sys.exit(code)


def _show_warnings_as_notes() -> None:
    """Show what the library warns of as a remark, once, without the line of code it comes from."""
    shown_before, known = warnings.showwarning, set[str]()

    def show(message: Warning | str, category: type[Warning], *args: Any, **kwargs: Any) -> None:
        if category is not UserWarning:
            shown_before(message, category, *args, **kwargs)
            return
        from psgraph.cli.screen import note

        if str(message) not in known:
            known.add(str(message))
            note(f"Warning: {message}")

    warnings.showwarning = show


def run(arguments: Sequence[str]) -> int:
    """Run one command; every failure becomes one message on stderr and an exit code.

    With ``--json`` the same message is also one JSON object on stdout, on one line.
    """
    failed = partial(_fail, as_json="--json" in arguments)
    try:
        result = root.main(list(arguments), prog_name="psgraph", standalone_mode=False)
    except click.UsageError as error:
        where = error.ctx.command_path if error.ctx else "psgraph"
        return failed(error, error.format_message(), error.exit_code, hint=f"Help: {where} --help")
    except click.ClickException as error:
        return failed(error, error.format_message(), error.exit_code)
    except PsgraphError as error:
        return failed(error, str(error), error.exit_code)
    except (click.Abort, KeyboardInterrupt) as error:
        return failed(error, "stopped", STOPPED)
    except MemoryError as error:
        remedy = "Use a larger machine, or fewer nodes and edges per timestamp."
        return failed(error, f"not enough memory\n{remedy}", 1)
    except Exception as error:
        if os.environ.get("PSGRAPH_DEBUG") == "1":
            raise
        # Its text may hold anything, private values too; the name of its type can't.
        return failed(
            error,
            f"internal error ({type(error).__name__}); this is a bug in psgraph\n"
            "PSGRAPH_DEBUG=1 shows where it happened. That text may contain private values.",
            1,
        )
    return result if isinstance(result, int) else 0


def _fail(
    error: BaseException, message: str, exit_code: int, *, as_json: bool, hint: str = ""
) -> int:
    from psgraph.cli.screen import folded

    mark = "error: "
    shown = folded(mark + message).removeprefix(mark)
    click.echo(click.style(mark, fg="red", bold=True) + shown, err=True)
    if hint:
        click.echo(click.style(hint, dim=True), err=True)
    if as_json:
        fact, _, remedy = message.partition("\n")
        told = {
            "type": type(error).__name__,
            "code": getattr(error, "code", "") or None,
            "message": fact,
            "remedy": remedy or None,
            "exit_code": exit_code,
        }
        click.echo(json.dumps({"error": told}, ensure_ascii=False))
    return exit_code
