"""The verdicts as pages, in Markdown and HTML: how many hold, each one, and why some do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from psgraph._runtime.durable import make_directory
from psgraph.reports.page import Page
from psgraph_lab.experiments.claims.picture import LOOKS, compose_verdicts
from psgraph_lab.experiments.claims.statements import Verdict
from psgraph_lab.experiments.definition import find_experiment
from psgraph_lab.experiments.figures import save_png, save_svg
from psgraph_lab.experiments.markdown import Markdown
from psgraph_lab.experiments.pages import add_plainly

__all__ = ["write_claims_pages"]

_ABOUT = (
    "Every comparative statement of the paper's evaluation, in our words, with a check. Statements "
    "about all data sets are decided on As-733 and As-caida, which are exactly the paper's. "
    "Cit-HepPh and Reddit can't be had as the paper has them: statements about one of these are "
    "not testable here, and the numbers of their stand-ins are shown and decide nothing."
)
_WHEN = (
    "Checks and thresholds were written down from the paper's words before any of these results "
    "was read; a few earlier runs on As-733 were known. Two rules were added when a first part of "
    "the results was in: a demand is made of each metric by itself, and what is said about how "
    "data sets differ is not refuted while some of them are missing."
)
_RULES = (
    "Two means are told apart from two standard errors of their difference on; within that they "
    "are level. Of a single run no noise is known, and any difference counts.",
    "“every”: nowhere the opposite, and so in more than half of the places (data sets × points of "
    "the axis × metrics). “Nearly all”: in at least 80 %. “Most”: in more than half. “Some”: at "
    "least once. “Not every”: at least once not. Data sets weigh the same.",
    "A trend follows the axis with a rank correlation of at least 0.5, and its ends differ beyond "
    "noise.",
    "“Significantly” is by a tenth, “much” twice, “competitive” within a quarter of the best. "
    "Where a statement is vague, what we take it for stands in brackets.",
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
        By the id of a statement: why it does not hold here, in Markdown.
    command
        What was typed to get the page.
    facts
        What else to know about how it was made: version, machine, date.
    html
        Write ``claims.html`` and the figure as ``claims.svg`` as well.

    Returns
    -------
    tuple of Path
        The Markdown page, and the HTML page if it was asked for.

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
    _count(document, verdicts)
    document.heading("How it was decided")
    document.paragraph(_ABOUT)
    document.paragraph(_WHEN)
    document.bullets(_RULES)
    document.paragraph(_readings(verdicts))
    for section, members in _sections(verdicts):
        _tell_section(document, section, members, notes)
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
        f"Of {len(verdicts)} statements {holding} hold here and {failing} do not; {open_ones} are "
        "not testable here."
    )


def _readings(verdicts: Sequence[Verdict]) -> str:
    """What would change if two metrics were read differently."""
    gained = [each.statement.id for each in verdicts if _turns(each, "holds")]
    lost = [each.statement.id for each in verdicts if _turns(each, "does not hold")]
    return (
        "Two of the metrics can be read in another way: the clustering coefficient as the average "
        "over nodes instead of transitivity (which the code that the paper builds on computes), "
        "and degree distributions in widening bins instead of degree by degree. The column "
        "“other reading” has the verdict then; it is not counted. With it "
        f"{_listed(gained)} would hold that do not, and {_listed(lost)} would not that do."
    )


def _turns(verdict: Verdict, into: str) -> bool:
    return verdict.otherwise == into != verdict.verdict


def _listed(ids: Sequence[str]) -> str:
    return f"{len(ids)} statements ({', '.join(ids)})" if ids else "no statements"


def _count(document: Markdown | Page, verdicts: Sequence[Verdict]) -> None:
    """The verdict table: how many hold, by section."""
    rows = [
        (section, *map(str, _counts(members)), str(len(members)))
        for section, members in _sections(verdicts)
    ]
    rows.append(("All", *map(str, _counts(verdicts)), str(len(verdicts))))
    columns = ("section", *LOOKS, "statements")
    document.table(columns, rows, numeric=(1, 2, 3, 4), caption="Verdicts by section")


def _tell_section(
    document: Markdown | Page, section: str, verdicts: Sequence[Verdict], notes: Mapping[str, str]
) -> None:
    document.heading(section)
    document.table(
        ("id", "what the paper says", "verdict", "other reading", "how decided"),
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
            _list_numbers(document, each)
    rest = [each for each in verdicts if each.verdict != "does not hold"]
    if any(each.numbers or each.beside for each in rest):
        with document.details(f"Numbers of the other statements: {section.lower()}"):
            for each in rest:
                if each.numbers or each.beside:
                    document.heading(f"{each.statement.id}: {each.verdict}", level=3)
                    _list_numbers(document, each)


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


def _list_numbers(document: Markdown | Page, verdict: Verdict) -> None:
    lines = verdict.numbers.splitlines()
    lines += [f"not deciding: {line}" for line in verdict.beside.splitlines()]
    document.bullets(lines)
