"""The verdicts as a page and in one figure: how many hold, each of them, and why some don't."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from psgraph._runtime.durable import make_directory
from psgraph._runtime.numbers import count
from psgraph.pictures.style import INK, QUIET, WHITE
from psgraph.reports.page import Page
from psgraph_lab.experiments.claims.statements import Verdict
from psgraph_lab.experiments.definition import find_experiment
from psgraph_lab.experiments.figures import save_png, save_svg
from psgraph_lab.experiments.markdown import Markdown
from psgraph_lab.experiments.pages import add_plainly

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["LOOKS", "compose_verdicts", "write_claims_pages"]

#: Colour and sign, distinguishable in print and with every kind of colour vision.
LOOKS = {
    "holds": ("#009e73", "✓"),
    "does not hold": ("#d55e00", "✗"),
    "not testable here": ("#c3c9d0", "–"),
}
_ROW, _SQUARE = 0.34, 0.84


def compose_verdicts(verdicts: Sequence[Verdict]) -> Figure:
    """Compose the figure without writing it."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    sections = list(dict.fromkeys(verdict.statement.section for verdict in verdicts))
    rows = [[each for each in verdicts if each.statement.section == name] for name in sections]
    longest = max((len(row) for row in rows), default=1)
    figure = Figure(
        figsize=(2.9 + _ROW * longest, 0.8 + _ROW * len(rows)),
        dpi=130,
        facecolor=WHITE,
        layout="constrained",
    )
    axes = figure.subplots()
    for index, row in enumerate(rows):
        for column, verdict in enumerate(row):
            colour, sign = LOOKS[verdict.verdict]
            axes.add_patch(
                Rectangle((column, index), _SQUARE, _SQUARE, facecolor=colour, edgecolor="none")
            )
            ink = INK if verdict.verdict == "not testable here" else WHITE
            middle = (column + _SQUARE / 2, index + _SQUARE / 2)
            axes.annotate(sign, middle, ha="center", va="center", color=ink, fontsize=10)
    axes.set(xlim=(-0.2, longest + 0.2), ylim=(len(rows) + 0.05, -0.15), aspect="equal", xticks=[])
    axes.set_yticks([index + _SQUARE / 2 for index in range(len(rows))], sections)
    axes.tick_params(axis="y", length=0, labelsize=10, labelcolor=INK)
    for side in axes.spines.values():
        side.set_visible(False)
    handles = [Rectangle((0, 0), 1, 1, facecolor=colour) for colour, _ in LOOKS.values()]
    labels = [
        f"{sign} {word} ({sum(verdict.verdict == word for verdict in verdicts)})"
        for word, (_, sign) in LOOKS.items()
    ]
    figure.legend(
        handles,
        labels,
        loc="outside lower center",
        ncols=3,
        frameon=False,
        fontsize=10,
        labelcolor=QUIET,
    )
    return figure


_ABOUT = (
    "Every comparative statement of the paper's evaluation, in our words, with a check. Statements "
    "about all data sets are decided on As-733 and As-caida, which are identical to the paper's. "
    "Cit-HepPh and Reddit are not available in the paper's form: statements about one of them are "
    "not testable here; results on their stand-ins are shown but don't count."
)
_WHEN = (
    "Checks and thresholds were derived from the paper's wording before any of these results was "
    "read; a few earlier runs on As-733 were known. Two rules were added after the first part of "
    "the results was in: a demand applies to each metric separately, and a statement about how "
    "data sets differ is not refuted while some of them are missing."
)
_RULES = (
    "Two means differ if they are more than two standard errors of their difference apart; "
    "otherwise they are level. The noise of a single run is unknown, and any difference counts.",
    "“every”: true in more than half of the cases (data sets × points of the axis × metrics), the "
    "opposite in none. “nearly all”: true in at least 80 %. “most”: in more than half. “some”: at "
    "least once. “not every”: false at least once. Data sets weigh the same.",
    "A trend follows the axis with a rank correlation of at least 0.5, and its ends differ beyond "
    "noise.",
    "“Significantly” means by a tenth, “much” a factor of two, “competitive” within a quarter of "
    "the best. Where a statement is vague, our interpretation is in brackets.",
)
_QUICK = (
    "Quick results: only the beginning of every stream, few budgets, few repetitions. They show "
    "that the checks work, not whether the paper is right."
)


def write_claims_pages(
    verdicts: Sequence[Verdict],
    out: Path,
    *,
    notes: Mapping[str, str],
    command: str,
    facts: Mapping[str, str],
    html: bool = False,
) -> tuple[Path, ...]:
    """Write ``claims.md`` with its figure ``claims.png``, and on request ``claims.html``.

    Parameters
    ----------
    notes
        By id of a statement: why it does not hold here, in Markdown.
    command
        The command that wrote the page.
    facts
        Other facts about its origin: version, machine, date.
    html
        Write ``claims.html`` and the figure as ``claims.svg`` as well.

    Returns
    -------
    tuple of Path
        The Markdown page, and the HTML page if it was requested.

    Raises
    ------
    OutputError
        If the files can't be written.

    Examples
    --------
    >>> import tempfile
    >>> from psgraph_lab.experiments.claims import check_claims
    >>> verdicts = check_claims({}, {})
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     (text,) = write_claims_pages(
    ...         verdicts, Path(directory), notes={}, command="…", facts={}
    ...     )
    ...     text.read_text().splitlines()[0]
    "# Do the paper's statements hold?"
    """
    definition = find_experiment("claims")
    subtitle = f"{definition.paper} of the paper · experiment claims"
    banner = _QUICK if any(verdict.shortened for verdict in verdicts) else ""
    alt = f"{_sum_up(verdicts)} The tables below say which."
    make_directory(out)
    figure = compose_verdicts(verdicts)
    png = save_png(figure, out / "claims")
    text = Markdown(definition.title, subtitle=subtitle)
    if banner:
        text.paragraph(banner, kind="note")
    text.paragraph(_sum_up(verdicts))
    text.picture(png.name, alt=alt)
    _add_body(text, verdicts, notes, command, facts)
    written = text.write(out / "claims.md")
    if not html:
        return (written,)
    page = Page(definition.title, subtitle=subtitle, banner=banner)
    page.paragraph(_sum_up(verdicts), kind="lead")
    _, drawing = save_svg(figure, out / "claims", label=alt)
    page.figure(drawing, alt=alt)
    _add_body(page, verdicts, notes, command, facts)
    return written, page.write(out / "claims.html")


def _add_body(
    document: Markdown | Page,
    verdicts: Sequence[Verdict],
    notes: Mapping[str, str],
    command: str,
    facts: Mapping[str, str],
) -> None:
    _add_counts(document, verdicts)
    document.heading("How statements are checked")
    document.paragraph(_ABOUT)
    document.paragraph(_WHEN)
    document.bullets(_RULES)
    document.paragraph(_readings(verdicts))
    for section, members in _sections(verdicts):
        _add_section(document, section, members, notes)
    document.heading("How this was made")
    document.text(command)
    document.facts(list(facts.items()))


def _sections(verdicts: Sequence[Verdict]) -> list[tuple[str, list[Verdict]]]:
    names = dict.fromkeys(verdict.statement.section for verdict in verdicts)
    return [(name, [each for each in verdicts if each.statement.section == name]) for name in names]


def _counts(verdicts: Sequence[Verdict]) -> list[int]:
    return [sum(verdict.verdict == word for verdict in verdicts) for word in LOOKS]


def _sum_up(verdicts: Sequence[Verdict]) -> str:
    holding, failing, open_ones = _counts(verdicts)
    return (
        f"Of {len(verdicts)} statements, {holding} hold here and {failing} do not; {open_ones} are "
        "not testable here."
    )


def _readings(verdicts: Sequence[Verdict]) -> str:
    """What would change under alternative readings of two metrics."""
    gained = [each.statement.id for each in verdicts if _turns(each, "holds")]
    lost = [each.statement.id for each in verdicts if _turns(each, "does not hold")]
    return (
        "Two of the metrics can be read differently: the clustering coefficient as the average "
        "over nodes instead of transitivity (which the code that the paper builds on computes), "
        "and degree distributions in widening bins instead of degree by degree. The column "
        "“other reading” shows the verdict in that case; it does not count. Under it, "
        f"{_listed(gained)} would hold that don't hold now, and {_listed(lost)} would no longer "
        "hold."
    )


def _turns(verdict: Verdict, into: str) -> bool:
    return verdict.otherwise == into != verdict.verdict


def _listed(ids: Sequence[str]) -> str:
    return f"{count(len(ids), 'statement')} ({', '.join(ids)})" if ids else "no statement"


def _add_counts(document: Markdown | Page, verdicts: Sequence[Verdict]) -> None:
    """The table of verdicts by section."""
    rows = [
        (section, *map(str, _counts(members)), str(len(members)))
        for section, members in _sections(verdicts)
    ]
    rows.append(("All", *map(str, _counts(verdicts)), str(len(verdicts))))
    columns = ("section", *LOOKS, "statements")
    document.table(columns, rows, numeric=(1, 2, 3, 4), caption="Verdicts by section")


def _add_section(
    document: Markdown | Page, section: str, verdicts: Sequence[Verdict], notes: Mapping[str, str]
) -> None:
    document.heading(section)
    document.table(
        ("id", "statement of the paper", "verdict", "other reading", "basis"),
        [
            (
                each.statement.id,
                each.statement.text,
                f"{LOOKS[each.verdict][1]} {each.verdict}",
                _other_reading(each),
                each.reason,
            )
            for each in verdicts
        ],
        caption=f"Statements: {section.lower()}",
    )
    for each in verdicts:
        if each.verdict == "does not hold":
            document.heading(f"Why {each.statement.id} does not hold", level=3)
            document.paragraph(each.statement.text, kind="note")
            _explain(document, notes.get(each.statement.id, "No explanation yet."))
            _add_numbers(document, each)
    rest = [each for each in verdicts if each.verdict != "does not hold"]
    if any(each.numbers or each.stand_ins for each in rest):
        with document.details(f"Numbers for the other statements: {section.lower()}"):
            for each in rest:
                if each.numbers or each.stand_ins:
                    document.heading(f"{each.statement.id}: {each.verdict}", level=3)
                    _add_numbers(document, each)


def _other_reading(verdict: Verdict) -> str:
    if verdict.otherwise is None:
        return ""
    same = verdict.otherwise == verdict.verdict
    return "the same" if same else f"{LOOKS[verdict.otherwise][1]} {verdict.otherwise}"


def _explain(document: Markdown | Page, note: str) -> None:
    if isinstance(document, Markdown):
        document.verbatim(note)
    else:
        add_plainly(document, note)


def _add_numbers(document: Markdown | Page, verdict: Verdict) -> None:
    lines = verdict.numbers.splitlines()
    lines += [f"not counted: {line}" for line in verdict.stand_ins.splitlines()]
    document.bullets(lines)
