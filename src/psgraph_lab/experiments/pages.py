"""A page per experiment, in Markdown and on request in HTML: figure, explanation, numbers.

Also the index of a directory of results, and the notes in its ``notes.toml``: ``[experiments]``
holds an interpretation of each figure, by experiment; ``[statements]`` an explanation of a verdict,
by statement id. Both appear on the pages.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from psgraph._runtime.durable import make_directory
from psgraph._runtime.numbers import count, joined
from psgraph.errors import DataError
from psgraph.reports.page import Page
from psgraph_lab.experiments.definition import Experiment
from psgraph_lab.experiments.figures import compose, save_png, save_svg
from psgraph_lab.experiments.heatmap import compose_heat_map
from psgraph_lab.experiments.labels import dataset_words, direction, found_metric
from psgraph_lab.experiments.markdown import Document, Markdown, plain_blocks
from psgraph_lab.experiments.recovery import (
    compose_recovery,
    exceptions,
    recovery_sentences,
    recovery_tables,
)
from psgraph_lab.experiments.scorecard import (
    SCORECARD_READING,
    group_sentences,
    losses,
    main_words,
    point_tables,
    score_tables,
    verdict_sentences,
)
from psgraph_lab.experiments.summary import Curve
from psgraph_lab.experiments.tables import (
    MACHINE,
    Table,
    ablation_table,
    missing_notes,
    stand_in_notes,
    tables_of,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["NOT_PRIVATE", "Notes", "add_plainly", "read_notes", "write_index", "write_pages"]

NOT_PRIVATE = (
    "Every run is seeded, so that it can be repeated. Seeded runs are for research: their output "
    "is not private, and it is compared with the original without noise."
)
_ONLY_RATIOS = (
    f"The paper's numbers come from a different machine ({MACHINE}) and different "
    "implementations. Only ratios between methods are comparable: next to every number is its "
    "multiple of PSGraph's."
)
#: A larger drawing is embedded as pixels.
_LARGEST_DRAWING = 600_000
_COLUMN_PIXELS, _HEAT_MAP_PIXELS, _NARROW_PIXELS = 185, 640, 340


def write_pages(
    experiment: Experiment,
    curves: Sequence[Curve],
    out: Path,
    *,
    command: str,
    facts: Mapping[str, str],
    reading: str = "",
    html: bool = False,
) -> tuple[Path, ...]:
    """Write ``NAME.md`` with its figure ``NAME.png``, and on request ``NAME.html``.

    Parameters
    ----------
    curves
        The results so far; the page says what is missing.
    out
        The directory; created if necessary.
    command
        The command that wrote this page.
    facts
        Other facts about its origin: version, machine, date.
    reading
        What the figure shows, in Markdown: paragraphs and lists.
    html
        Write ``NAME.html`` and the figure as ``NAME.svg`` as well.

    Returns
    -------
    tuple of Path
        The Markdown page, and the HTML page if it was requested.

    Raises
    ------
    DataError
        If there is nothing to show.
    OutputError
        If the files can't be written.

    Examples
    --------
    >>> import tempfile
    >>> from psgraph_lab.experiments.cells import Outcome
    >>> from psgraph_lab.experiments.definition import find_experiment
    >>> from psgraph_lab.experiments.summary import summarise
    >>> experiment = find_experiment("scalability", quick=True)
    >>> outcomes = {cell: Outcome(cell, {"seconds": 0.5}) for cell in experiment.cells()}
    >>> curves = summarise(experiment, outcomes)
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     (text,) = write_pages(experiment, curves, Path(directory), command="…", facts={})
    ...     text.read_text().splitlines()[0]
    '# Running time by number of edges'
    """
    figure = _figure_of(experiment, curves)
    alt = f"{experiment.title}: the numbers are in the tables below"
    png = None if figure is None else save_png(figure, out / experiment.name)
    origin = f"{experiment.paper} of the paper" if experiment.paper else "not in the paper"
    subtitle = f"{origin} · experiment {experiment.name}"
    about = " ".join(experiment.about.split())
    text = Markdown(experiment.title, subtitle=subtitle)
    text.paragraph(about)
    if png is not None:
        text.picture(png.name, alt=alt)
    if reading.strip():
        text.heading("What we see")
        text.verbatim(reading)
    _add_body(text, experiment, curves, command, facts)
    written = text.write(out / f"{experiment.name}.md")
    if not html:
        return (written,)
    page = Page(experiment.title, subtitle=subtitle)
    page.paragraph(about, kind="lead")
    if figure is not None and png is not None:
        svg, drawing = save_svg(figure, out / experiment.name, label=alt)
        picture = drawing if svg.stat().st_size <= _LARGEST_DRAWING else png.read_bytes()
        page.figure(picture, alt=alt, least_width=_least_width(experiment, curves))
    if reading.strip():
        page.heading("What we see")
        add_plainly(page, reading)
    _add_body(page, experiment, curves, command, facts)
    return written, page.write(out / f"{experiment.name}.html")


def _figure_of(experiment: Experiment, curves: Sequence[Curve]) -> Figure | None:
    """The figure; None where there is nothing to compare yet, but there are numbers."""
    if experiment.view == "heat map" and curves:
        return compose_heat_map(experiment, curves)
    if experiment.view == "jumps" and curves:
        return compose_recovery(experiment, curves)
    return compose(experiment, curves)


def _least_width(experiment: Experiment, curves: Sequence[Curve]) -> int:
    """The width in pixels below which a reader scrolls instead of squinting."""
    if experiment.view == "heat map":
        return _HEAT_MAP_PIXELS
    if experiment.view == "jumps":
        return _NARROW_PIXELS
    return _COLUMN_PIXELS * len({curve.dataset for curve in curves})


def _add_body(
    document: Document,
    experiment: Experiment,
    curves: Sequence[Curve],
    command: str,
    facts: Mapping[str, str],
) -> None:
    if experiment.subject:
        _add_scorecard(document, experiment, curves)
    _explain(document, experiment, curves)
    _add_numbers(document, experiment, curves)
    _add_provenance(document, command, facts)


def _add_scorecard(document: Document, experiment: Experiment, curves: Sequence[Curve]) -> None:
    """Say on which data sets the subject was tuned, and count its wins and losses."""
    document.heading("Scorecard")
    verdicts = recovery_sentences if experiment.view == "jumps" else verdict_sentences
    document.bullets([*verdicts(experiment, curves), *group_sentences(experiment, curves)])
    if experiment.view == "jumps":
        _add_recovery(document, experiment, curves)
    document.paragraph(SCORECARD_READING)
    for table in score_tables(experiment, curves):
        _add_table(document, table)
    lost = losses(experiment, curves)
    if lost:
        with document.details(
            f"Clearly worse in {main_words(experiment)} metrics: {count(len(lost), 'cell')}"
        ):
            document.bullets(lost)


def _add_recovery(document: Document, experiment: Experiment, curves: Sequence[Curve]) -> None:
    """Show the numbers of the figure, and the cells that miss a goal."""
    for table in recovery_tables(experiment, curves):
        _add_table(document, table)
    missed = exceptions(experiment, curves)
    if missed:
        with document.details(f"Clearly above the goal: {count(len(missed), 'cell')}"):
            document.bullets(missed)


def add_plainly(page: Page, reading: str) -> None:
    """Add a Markdown text to an HTML page as paragraphs and lists, without other markup."""
    for block in plain_blocks(reading):
        if isinstance(block, str):
            page.paragraph(block)
        else:
            page.bullets(block)


def _explain(document: Document, experiment: Experiment, curves: Sequence[Curve]) -> None:
    """Explain how to read the figure, how often it was run, and what the data sets are."""
    document.heading("How to read it")
    metrics = [found_metric(name) for name in experiment.metrics]
    if experiment.view == "heat map":
        document.paragraph(
            "One panel per metric, one row per data set, one column per point. The number is the "
            "rival's error divided by the subject's, both means over repetitions: above 1 the "
            "subject is better."
        )
    elif experiment.view == "jumps":
        document.paragraph(
            "One panel per comparison, one row per metric, one column per jump. The number is the "
            "subject's error divided by the other's, the geometric mean over streams and points "
            "of means over repetitions. Where higher is better the error is what is missing to 1."
        )
    elif experiment.axis == "none":
        document.paragraph(
            "One column per data set, one bar per method. With several repetitions, the line "
            "across the end of a bar is ± one standard deviation."
        )
    else:
        document.paragraph(
            "One column per data set. Lines are means over repetitions, bands are ± one standard "
            "deviation. Rows that span several orders of magnitude have a logarithmic axis; the "
            "label says so."
        )
    if experiment.kind == "quality":
        differences = ", unless they are called differences" if experiment.main else ""
        document.paragraph(
            f"Errors are relative to the original's value{differences}. Where that is zero the "
            "relative error is undefined, and the timestamp is excluded."
        )
    document.bullets(
        [f"{info.heading} ({direction(info)}). {info.reading}".strip() for info in metrics]
    )
    if (table := ablation_table(experiment)) is not None:
        _add_table(document, table)
    document.heading("How often it was run")
    document.bullets(list(missing_notes(experiment, curves)))
    stand_ins = stand_in_notes(curves)
    if stand_ins:
        document.paragraph("Stand-ins for data sets of the paper that are not available:")
        document.bullets(stand_ins)


def _add_numbers(document: Document, experiment: Experiment, curves: Sequence[Curve]) -> None:
    document.heading("Numbers")
    if experiment.axis == "none":
        document.paragraph(_ONLY_RATIOS)
    if experiment.axis == "timestamp":
        document.paragraph("Means over repetitions; their number is next to each name.")
    if experiment.view != "lines":
        document.paragraph("Means over repetitions, ± standard deviation for the lines compared.")
    folded = experiment.axis == "timestamp" or experiment.view != "lines"
    for dataset in dict.fromkeys(curve.dataset for curve in curves):
        if folded:
            with document.details(dataset_words(dataset)):
                _add_tables(document, experiment, curves, dataset)
        else:
            document.heading(dataset_words(dataset), level=3)
            _add_tables(document, experiment, curves, dataset)


def _add_tables(
    document: Document, experiment: Experiment, curves: Sequence[Curve], dataset: str
) -> None:
    tables = tables_of if experiment.view == "lines" else point_tables
    for table in tables(experiment, curves, dataset):
        _add_table(document, table)


def _add_table(document: Document, table: Table) -> None:
    numeric = range(1, len(table.columns))
    document.table(table.columns, table.rows, numeric=numeric, caption=table.caption)


def _add_provenance(document: Document, command: str, facts: Mapping[str, str]) -> None:
    document.heading("How it was made")
    document.text(command)
    if facts:
        document.facts(list(facts.items()))
    document.paragraph(NOT_PRIVATE)


#: Pixels of the corner of a figure that its thumbnail shows, and of the thumbnail.
_CORNER, _THUMBNAIL = (640, 480), (640, 480)


def write_index(out: Path, experiments: Sequence[Experiment], *, html: bool = False) -> Path:
    """Write ``README.md``, with a link to every page in the directory; returns its path.

    With `html`, ``index.html`` is written as well and links to the HTML pages.

    Examples
    --------
    >>> import tempfile
    >>> from psgraph_lab.experiments.definition import find_experiment
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     _ = (Path(directory) / "claims.md").write_text("…")
    ...     _ = write_index(Path(directory), [find_experiment("claims")])
    ...     "](claims.md)" in (Path(directory) / "README.md").read_text()
    True
    """
    make_directory(out)
    title = "Reproducing the paper's evaluation"
    about = "One page per figure or table of the paper, with results from this package."
    there = [each for each in experiments if (out / f"{each.name}.md").exists()]
    missing = [each.name for each in experiments if each not in there]
    note = f"Not run yet: {joined(missing)}." if missing else ""
    text = Markdown(title)
    text.paragraph(about)
    for each in there:
        text.verbatim(_entry(each, has_figure=(out / f"{each.name}.png").exists()))
    if note:
        text.paragraph(note)
    text.paragraph(NOT_PRIVATE)
    if html:
        page = Page(title, subtitle=about)
        page.links([_card(out, each) for each in there if (out / f"{each.name}.html").exists()])
        if note:
            page.paragraph(note, kind="note")
        page.paragraph(NOT_PRIVATE)
        page.write(out / "index.html")
    return text.write(out / "README.md")


def _card(out: Path, experiment: Experiment) -> tuple[str, str, str, bytes | None]:
    """A card of the HTML index: address, title, description, thumbnail."""
    thumbnail = _thumbnail(out / f"{experiment.name}.png")
    return f"{experiment.name}.html", experiment.title, _where(experiment), thumbnail


def _where(experiment: Experiment) -> str:
    origin = experiment.paper or "Not in the paper"
    return f"{origin}. {' '.join(experiment.about.split())}"


def _entry(experiment: Experiment, *, has_figure: bool) -> str:
    """Markdown for one link with a small figure."""
    link = f"## [{experiment.title}]({experiment.name}.md)\n\n{_where(experiment)}"
    shown = f'<img src="{experiment.name}.png" width="800" alt="">'
    return f"{link}\n\n[{shown}]({experiment.name}.md)" if has_figure else link


def _thumbnail(path: Path) -> bytes | None:
    """The top left corner of a figure, small, with text that is still legible."""
    from PIL import Image

    if not path.exists():
        return None
    sink = BytesIO()
    with Image.open(path) as picture:
        width, height = map(min, picture.size, _CORNER)
        small = picture.convert("RGB").crop((0, 0, width, height))
        small.thumbnail(_THUMBNAIL)
        small.quantize(64, dither=Image.Dither.NONE).save(sink, format="png", optimize=True)
    return sink.getvalue()


NAME = "notes.toml"


@dataclass(frozen=True)
class Notes:
    """Markdown texts, by name."""

    experiments: Mapping[str, str] = field(default_factory=dict)
    statements: Mapping[str, str] = field(default_factory=dict)


def read_notes(directory: Path) -> Notes:
    """Read the notes in a directory; empty if there are none."""
    path = directory / NAME
    if not path.exists():
        return Notes()
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        parts = [_texts(content.pop(part, {})) for part in ("experiments", "statements")]
    except (OSError, ValueError):
        raise DataError(
            f"{path} can't be read\n"
            "It must be TOML with tables [experiments] and [statements], both of names and texts."
        ) from None
    return Notes(*parts)


def _texts(part: object) -> dict[str, str]:
    if not isinstance(part, dict) or not all(isinstance(text, str) for text in part.values()):
        raise ValueError
    return {str(name): text.strip() for name, text in part.items()}
