"""The audit as a page that a privacy officer can read.

It contains no private data: an audit runs on artificial graphs only.
"""

from __future__ import annotations

from psgraph._runtime.numbers import count
from psgraph.audit.detectors import DETECTORS
from psgraph.audit.findings import KINDS, VERDICTS, Audit, Check, Verdict
from psgraph.audit.reach import Reached
from psgraph.reports.page import Page, Tone

__all__ = ["audit_page"]

_PROMISED = (
    "Two streams are neighbours if they have the same nodes and times and differ, inside at most w "
    "consecutive timestamps, by at most one edge per timestamp. Whatever is released is equally "
    "likely under both, up to a factor of e^ε. An audit looks for a pair of neighbours and an "
    "event that contradict this."
)

_ATTACKS = {
    "replay": (
        "Replay",
        "The method runs on a stream, then on a neighbour with every noisy value forced to that of "
        "the first run. Whatever still differs depends on private edges: a request, a shape, a "
        "branch, the synthetic graph. The private values inside must not be further apart than the "
        "stated sensitivity, and what is lost not more than what is charged.",
    ),
    "enumeration": (
        "Exact enumeration",
        "On all graphs of a few nodes, the probability of everything a phase can show, from the "
        "real code. The largest ratio between neighbours is the ε that is really spent.",
    ),
    "bounds": (
        "Bounds from outside",
        "Many draws on the worst neighbours: of each mechanism, of each phase of a method after "
        "the same answers, and of whole streams. An event is chosen on half of the draws; the "
        "other half bounds its probabilities (Clopper and Pearson, 95 % for all bounds of the "
        "audit together). A lower bound above the charge would prove a violation. A low bound "
        "alone proves nothing, so each attack is repeated with sharpened noise, charged 4 times "
        "as much (16 times for streams). Held: that leak exceeded the charge. Not tested: it did "
        "not, and the bound says nothing. Mechanisms are bounded at ε = 1, and phases under the "
        "guarantee that charges them closest to 1, since no affordable number of draws "
        "distinguishes ε = 0.01 from 0.",
    ),
    "samplers": (
        "Samplers",
        "Every sampler against its exact probabilities (chi-square, level 10⁻⁶). At a million "
        "draws, noise of a scale that is 2 % wrong is rejected.",
    ),
    "rules": (
        "Rules of the kernel",
        "Charges before draws, no overspending, no window above ε, integers only, keys from the "
        "operating system, no random word used twice across threads and forks.",
    ),
    "durability": (
        "Interrupted publications",
        "Stopped between sealing and writing, started again, repeated, a file lost, other data "
        "under a published timestamp.",
    ),
    "directories": (
        "Side information",
        "Two neighbours published by the command with one forced transcript: files, certificates, "
        "node lists, output and public report, byte by byte.",
    ),
}

_CANNOT_SHOW = (
    "That the promise holds. An audit finds violations; proofs are in the notes that each "
    "mechanism names.",
    "Violations on graphs unlike those that were tried, or events rarer than the number of runs "
    "can show.",
    "Anything about what was not tested or not reached. A branch that was reached held for the "
    "answers and neighbours tried there, not for all of them.",
    "A distribution that is wrong by less than the factor named in the figure, where only a bound "
    "looks at it. Replay and enumeration are exact; bounds are not.",
    "Leaks through running time, memory or anything else outside the released files.",
    "Whether roster and times are really public: that is the publisher's declaration.",
)


def audit_page(audit: Audit, *, command: str = "") -> Page:
    """Lay out an audit.

    Parameters
    ----------
    command
        The command that made it.
    """
    page = Page("Privacy audit", subtitle=", ".join(audit.methods))
    page.paragraph(
        f"{count(len(audit.checks), 'check')} on {count(len(audit.methods), 'method')}"
        f"{f'; {audit.missing}' if audit.missing else ''}.",
        kind="lead",
        verdict="Nothing found" if audit.passed else "Failed",
        tone="good" if audit.passed else "poor",
    )
    page.tiles(_tiles(audit))
    facts = audit.to_dict()
    page.facts(
        [
            ("Mode", audit.mode),
            ("Duration", f"{audit.seconds:,.0f} s, {count(audit.workers, 'process', 'processes')}"),
            ("Version", f"psgraph {facts['psgraph']}"),
            ("Machine", str(facts["machine"])),
            *([("Command", command)] if command else []),
        ]
    )
    if audit.shortcomings:
        page.heading("What failed")
        page.bullets(audit.shortcomings)
    page.heading("What was promised")
    page.paragraph(_PROMISED)
    page.heading("What was tried and what was found")
    for kind, (title, text) in _ATTACKS.items():
        _add_attack(page, title, text, [check for check in audit.checks if check.kind == kind])
    if audit.reached:
        _add_reach(page, audit)
    if audit.hunts:
        _add_mutants(page, audit)
    page.heading("What an audit cannot show")
    page.bullets(list(_CANNOT_SHOW))
    return page


def _tiles(audit: Audit) -> list[tuple[str, str, str, Tone | None]]:
    """The verdicts, what was reached and the deliberate bugs, counted."""
    tones: dict[Verdict, Tone] = {"held": "good", "not tested": "fair", "failed": "poor"}
    tiles: list[tuple[str, str, str, Tone | None]] = []
    for verdict in VERDICTS:
        checks = audit.with_verdict(verdict)
        tiles.append(("Checks", f"{len(checks)}", verdict, tones[verdict] if checks else None))
    if needed := [row for row in audit.reached if row.needed]:
        tone: Tone = "poor" if audit.unreached else "good"
        shown = f"{len(needed) - len(audit.unreached)} of {len(needed)}"
        tiles.append(("Queries, branches, settings, code", shown, "reached", tone))
    if audit.hunts:
        tone = "poor" if audit.survivors else "good"
        shown = f"{len(audit.hunts) - len(audit.survivors)} of {len(audit.hunts)}"
        tiles.append(("Deliberate bugs", shown, "found", tone))
    return tiles


def _add_attack(page: Page, title: str, text: str, checks: list[Check]) -> None:
    page.heading(title, level=3)
    page.paragraph(text)
    if not checks:
        page.paragraph("Not run.", kind="note")
        return
    rows = [
        (
            check.where,
            "FAILED" if check.verdict == "failed" else check.verdict,
            f"{check.effort:,}" if check.effort else "–",
            check.figure,
        )
        for check in checks
    ]
    page.table(("what", "verdict", "tries", "found"), rows, numeric=(2,), caption=title)


def _add_reach(page: Page, audit: Audit) -> None:
    page.heading("What was reached")
    page.paragraph(
        "An attack says nothing about code that it never ran. For every method: how often each "
        "attack asked each query, took each branch and ran under each setting. The replay may "
        "choose the answers that a method gets, since every answer must be private and not only "
        "the likely ones; so it takes branches that small graphs would hardly ever lead to. "
        "“Moved” is the largest difference between the answers to a query on two replayed "
        "neighbours, as a share of the stated sensitivity: below 100 %, a statement that is too "
        "small might go unnoticed. For code, the number counts lines. The audit fails if the "
        "replay missed anything that is not marked “not needed”."
    )
    attacks = list(dict.fromkeys(name for row in audit.reached for name in row.times))
    for method in audit.methods:
        rows = [row for row in audit.reached if row.method == method]
        if not rows:
            continue
        with page.details(f"{method}: {audit.reach_of(method)}"):
            for kind, many in KINDS.items():
                _add_reached(page, many, attacks, [row for row in rows if row.kind == kind])


def _add_reached(page: Page, many: str, attacks: list[str], rows: list[Reached]) -> None:
    """A table of things of one kind."""
    if not rows:
        return
    names = [name for name in attacks if any(name in row.times for row in rows)]
    moved = any(row.attained is not None for row in rows)
    page.table(
        (many, "", *names, *(["moved"] if moved else [])),
        [
            (
                row.name,
                ("reached" if row.needed else "not needed") if row.held else "NOT REACHED",
                *(f"{row.times[name]:,}" if row.times.get(name) else "–" for name in names),
                *([_share(row.attained)] if moved else []),
            )
            for row in rows
        ],
        numeric=range(2, 2 + len(names) + moved),
    )


def _share(attained: float | None) -> str:
    return "–" if attained is None else f"{100 * attained:.0f} %"


def _add_mutants(page: Page, audit: Audit) -> None:
    page.heading("Does the audit find bugs?")
    page.paragraph(
        "Each row is a privacy bug that was put into the running code on purpose. ●: this check "
        "found it. ○: this check missed it. Blank: this check did not run, because another had "
        "already found the bug or because it cannot run on the changed code. A bug that no check "
        "finds is a fault of the auditor."
    )
    names = list(DETECTORS)
    rows = [
        (
            hunt.mutant,
            hunt.method,
            *("" if name not in hunt.found else "●" if hunt.found[name] else "○" for name in names),
            "found" if hunt.caught else "SURVIVED",
        )
        for hunt in audit.hunts
    ]
    page.table(("bug", "method", *names, ""), rows, caption="Deliberate bugs")
