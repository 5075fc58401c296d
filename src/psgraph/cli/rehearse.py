"""``psgraph rehearse``: what quality to expect, before anything is spent."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from io import StringIO
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

import click

from psgraph._runtime.numbers import brief, count
from psgraph.cli.config import check_comment, read_config, write_comment
from psgraph.cli.flags import Checked, json_option, parse_window, report_option
from psgraph.cli.help import Command
from psgraph.cli.input import input_option, silence_warnings
from psgraph.cli.screen import (
    compile_notice,
    facts,
    fitted,
    note,
    print_json,
    print_tables,
    progress,
    results,
    waiting,
)
from psgraph.errors import InvalidArgument, exact_decimal
from psgraph.methods import COMPARED_METHODS
from psgraph.privacy.guarantee import exact_epsilon

if TYPE_CHECKING:
    from psgraph.trust.rehearsal import Rehearsal

__all__ = ["command"]

Value = TypeVar("Value")


def _listed(read: Callable[[str], Value]) -> Callable[[Any], tuple[Value, ...]]:
    """Read values separated by commas, each once."""

    def values(text: Any) -> tuple[Value, ...]:
        parts = [part.strip() for part in str(text).split(",")]
        if not all(parts):
            raise InvalidArgument(f"give values separated by commas, such as 0.5,1,2, not {text!r}")
        return tuple(dict.fromkeys(read(part) for part in parts))

    return values


def _picture(text: str) -> Path:
    from psgraph.reports.rehearsal_page import check_picture

    check_picture(text)
    return Path(text)


@click.command(
    "rehearse",
    cls=Command,
    short_help="Show what quality to expect, on a public stream of your size.",
    examples=[
        "psgraph rehearse --nodes 2000 --edges 20000",
        "psgraph rehearse --like demo --nodes 2000 --edges 20000 --epsilon 0.5,1,2 --window 5,20",
        "psgraph rehearse --like public.parquet --nodes 50000 --edges 400000 --seconds 600 "
        "--report rehearsal.html",
    ],
)
@click.option(
    "--like",
    metavar="NAME|FILE",
    default="demo",
    show_default=True,
    help="The public stream to rehearse on: demo (synthetic), a data set (`psgraph datasets "
    "list`), or a file. By naming a file you declare it public: its nodes are those that occur in "
    "it, and nothing that is shown about it is protected.",
)
@input_option("every", "Cut a public file of events into periods: 1d, 1w, 1mo, ….")
@input_option("columns", "Which columns of the file hold what.")
@click.option(
    "--nodes",
    type=click.IntRange(min=2),
    metavar="N",
    help="Nodes on your roster. With only N or M, the mean degree of the public stream is kept.",
)
@click.option(
    "--edges",
    type=click.IntRange(min=1),
    metavar="M",
    help="Edges of a snapshot, about. A number taken from private data stays private: use a round "
    "guess.",
)
@click.option(
    "--labels",
    is_flag=True,
    help="Use the public labels of the public stream, such as the departments of the demo.",
)
@click.option(
    "--timestamps",
    type=click.IntRange(min=1),
    metavar="T",
    help="Snapshots to rehearse with.  [default: the longest window, at least 12]",
)
@click.option(
    "--epsilon",
    "epsilons",
    type=Checked("epsilons", _listed(exact_epsilon)),
    metavar="E,…",
    default="0.5,1,2",
    show_default=True,
    help="Values of ε to try.",
)
@click.option(
    "--window",
    "windows",
    type=Checked("windows", _listed(parse_window)),
    metavar="W,…",
    default="5,20",
    show_default=True,
    help="Values of w to try.",
)
@click.option(
    "--methods",
    type=Checked("methods", _listed(str)),
    metavar="NAME,…",
    default=",".join(COMPARED_METHODS),
    show_default=True,
    help="Methods to try; `psgraph methods` lists those installed.",
)
@click.option(
    "--repetitions",
    type=click.IntRange(min=1),
    metavar="R",
    default=3,
    show_default=True,
    help="Runs of each choice, for the spread.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    default=0,
    show_default=True,
    help="Of the noise and of resizing: the same seed gives the same numbers.",
)
@click.option(
    "--seconds",
    type=click.IntRange(min=1),
    metavar="S",
    default=300,
    show_default=True,
    help="Stop after this time and show what is finished.",
)
@click.option("--all", "all_metrics", is_flag=True, help="Also show the paper's metrics.")
@click.option(
    "--picture",
    type=Checked("file", _picture),
    metavar="FILE.png",
    help="Also draw quality against ε.",
)
@click.option(
    "--comment-in",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE.toml",
    help="Also write the table into a configuration file, as a comment above [publication]. "
    "The comment of an earlier rehearsal is replaced; nothing else changes.",
)
@report_option
@json_option
def command(
    like: str,
    all_metrics: bool,
    picture: Path | None,
    comment_in: Path | None,
    report: Path | None,
    as_json: bool,
    **choices: Any,
) -> None:
    """Run methods on a public or synthetic stream of your size, and show what quality to expect.

    For each method, w and ε it shows how well the releases would answer what analysts ask, so
    that ε and w can be chosen without touching private data. No private input and no ledger is
    opened, and nothing is spent.

    The public stream is resized to N nodes and about M edges per snapshot; its degrees, triangles
    and changes over time stay as they are. Verdicts have the thresholds of the quality report.
    Rehearsals are of undirected graphs without weights: a file is read as such.
    """
    from psgraph.reports.rehearsal import rehearsal_dict

    if comment_in is not None:
        _check_config(comment_in, like)
    found = _rehearse(like, **choices)
    made_by = _command(like, choices)
    written: dict[str, str] = {}
    if report is not None:
        from psgraph.reports.rehearsal_page import rehearsal_page

        with waiting("Drawing …"):
            rehearsal_page(found, command=made_by).write(report)
        written["report"] = str(report)
    if picture is not None:
        from psgraph.reports.rehearsal_page import draw_rehearsal

        with waiting("Drawing …"):
            draw_rehearsal(found, picture)
        written["picture"] = str(picture)
    if comment_in is not None:
        write_comment(comment_in, _comment_lines(found, made_by))
        written["comment"] = str(comment_in)
    if as_json:
        print_json({**rehearsal_dict(found), **written})
        return
    _show(found, all_metrics=all_metrics)
    for what, where in written.items():
        results().print(f"{what.capitalize():8} {where}", soft_wrap=True)


def _check_config(path: Path, like: str) -> None:
    """Refuse a file that takes no comment, or whose private input is to be rehearsed on."""
    check_comment(path)
    private = read_config(path).get("path")
    if private is not None and Path(private).resolve() == Path(like).resolve():
        raise click.UsageError(
            f"{like} is the input that {path} publishes, so it is private\n"
            "Rehearse on a public stream: --like demo, a data set, or another file."
        )


def _rehearse(like: str, *, seconds: int, **choices: Any) -> Rehearsal:
    """Run the rehearsal with a bar, and say after the first run if time will not suffice."""
    from psgraph.trust.rehearsal import rehearse

    silence_warnings()
    runs = len(choices["methods"]) * len(choices["epsilons"]) * len(choices["windows"])
    total = runs * choices["repetitions"]
    started, finished = monotonic(), []
    with progress("Rehearsing", length=total, left=True) as advance, compile_notice():

        def after(done: int, total: int) -> None:
            advance()
            finished.append(monotonic() - started)
            # The first run also waits for the stream and for kernels; then each method once.
            if done == 1 + len(choices["methods"]):
                _tell_time((finished[-1] - finished[0]) / (done - 1), total, seconds)

        found = rehearse(like, **choices, seconds=seconds, progress=after)
    if not found.cells:
        raise click.ClickException(
            f"no run finished within {count(seconds, 'second')}\n"
            "Give more --seconds, or fewer --nodes and --edges."
        )
    return found


def _tell_time(each: float, total: int, seconds: int) -> None:
    expected = each * total
    if expected > seconds:
        note(
            f"About {expected:,.0f} seconds for {count(total, 'run')}; stops after {seconds:,}. "
            "More --seconds or fewer choices would finish all."
        )


def _command(like: str, choices: Mapping[str, Any]) -> str:
    """Return the command line that makes the same table."""
    words = ["psgraph", "rehearse", "--like", like]
    for name, value in choices.items():
        if value is None or value is False:
            continue
        if value is True:
            words.append(f"--{name}")
            continue
        values = value if isinstance(value, tuple) else (value,)
        shown = [exact_decimal(each) if name == "epsilons" else f"{each}" for each in values]
        option = {"epsilons": "epsilon", "windows": "window"}.get(name, name)
        words += [f"--{option}", ",".join(shown)]
    return shlex.join(words)


def _show(found: Rehearsal, *, all_metrics: bool) -> None:
    """Print the table, what its numbers mean, and what would suffice."""
    from psgraph.reports import rehearsal as page

    console = results()
    console.print(f"Rehearsed on a public stream like {found.like}", style="bold")
    console.print(f"{page.described(found.shape)}.")
    if found.shape != found.template:
        console.print(f"Resized from {page.described(found.template)}.", style="dim")
    console.print(f"{page.NOTHING_PRIVATE}\n")
    columns, rows = page.rehearsal_table(found)
    for shown in fitted(columns, rows, width=console.width, optional=("change",)):
        _divide(shown, found)
        console.print(shown)
    console.print(f"{page.LEGEND}   mean ± standard deviation over repetitions", style="dim")
    if any(not cell.promise.kept for cell in found.cells):
        console.print("† does not keep the promise; see `psgraph methods`", style="dim")
    console.print(facts(page.explanations(found)), style="dim")
    if all_metrics:
        console.print()
        columns, rows = page.all_metrics_table(found)
        print_tables(fitted(columns, rows, width=console.width))
    console.print()
    columns, rows = page.smallest_epsilons(found)
    print_tables(fitted(columns, rows, left=len(columns), width=console.width))
    console.print("\nThe smallest ε that answers every question that can be answered", style="bold")
    for line in page.recommendations(found):
        console.print(line)
    console.print(f"Both judged {page.CAUTION}.", style="dim")
    for line in _shortfall(found):
        console.print(line, style="yellow")


def _divide(shown: Any, found: Rehearsal) -> None:
    """Draw a line between windows."""
    for number, (cell, following) in enumerate(zip(found.cells, found.cells[1:], strict=False)):
        shown.rows[number].end_section = cell.guarantee.window != following.guarantee.window


def _shortfall(found: Rehearsal) -> list[str]:
    """What time, or the length of the public stream, did not suffice for."""
    from psgraph.reports import rehearsal as page

    warning = page.resemblance(found)
    lines = [warning] if warning else []
    if found.unfinished:
        names = [
            f"{method} with w = {guarantee.window}, ε = {brief(guarantee.epsilon)}"
            for method, guarantee in found.unfinished
        ]
        lines.append(f"Not finished in time: {'; '.join(names)}.")
    fewest = min(len(cell.runs) for cell in found.cells)
    if fewest < found.repetitions:
        lines.append(f"Some choices have {count(fewest, 'repetition')} of {found.repetitions}.")
    longest = max(found.windows)
    if found.shape.timestamps < longest:
        lines.append(
            f"The stream has {count(found.shape.timestamps, 'timestamp')}, fewer than w = "
            f"{longest}: what is learned over a whole window is not shown."
        )
    return lines


def _comment_lines(found: Rehearsal, made_by: str) -> list[str]:
    """The table and the recommendations as plain lines."""
    from rich.console import Console

    from psgraph.reports import rehearsal as page

    sink = StringIO()
    console = Console(file=sink, width=94, highlight=False, markup=False, emoji=False)
    columns, rows = page.rehearsal_table(found)
    console.print(f"On a public stream like {found.like}: {page.described(found.shape)}.")
    console.print(f"Made by: {made_by}\n", soft_wrap=True)
    for shown in fitted(columns, rows, width=console.width):
        _divide(shown, found)
        console.print(shown)
    console.print(page.LEGEND)
    for line in page.recommendations(found):
        console.print(line)
    return [line.rstrip() for line in sink.getvalue().splitlines()]
