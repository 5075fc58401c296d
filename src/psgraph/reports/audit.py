"""The audit as a page that a privacy officer can read.

It contains no private data: an audit runs on artificial graphs only.
"""

from __future__ import annotations

from psgraph._runtime.numbers import count
from psgraph.audit.detectors import DETECTORS
from psgraph.audit.findings import Audit, Check
from psgraph.reports.page import Page

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
        "Many runs on the worst neighbours. An event is chosen on half of the runs; the other half "
        "bounds its probabilities (Clopper and Pearson, 95 % for all bounds of the audit "
        "together). A lower bound above the charge would prove a violation. Where the worst event "
        "is known, the bound has to come close to the charge, which shows that the audit works. "
        "ε = 0.01 is audited at ε = 1 by the same code: no affordable number of runs "
        "distinguishes 0.01 from 0.",
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
    caught, total = len(audit.hunts) - len(audit.survivors), len(audit.hunts)
    page.paragraph(
        f"{count(len(audit.checks), 'check')} on {count(len(audit.methods), 'method')}; "
        f"{audit.missing or f'{caught} of {total} deliberate bugs found'}.",
        kind="lead",
        verdict="Nothing found" if audit.passed else "Failed",
        tone="good" if audit.passed else "poor",
    )
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
    if audit.failures:
        page.heading("What failed")
        page.bullets([f"{_where(check)}: {check.figure}" for check in audit.failures])
    page.heading("What was promised")
    page.paragraph(_PROMISED)
    page.heading("What was tried and what was found")
    for kind, (title, text) in _ATTACKS.items():
        _add_attack(page, title, text, [check for check in audit.checks if check.kind == kind])
    if audit.hunts:
        _add_mutants(page, audit)
    page.heading("What an audit cannot show")
    page.bullets(list(_CANNOT_SHOW))
    return page


def _where(check: Check) -> str:
    return f"{check.method}, {check.name}" if check.method else check.name


def _add_attack(page: Page, title: str, text: str, checks: list[Check]) -> None:
    page.heading(title, level=3)
    page.paragraph(text)
    if not checks:
        page.paragraph("Not run.", kind="note")
        return
    rows = [
        (
            _where(check),
            f"{check.effort:,}" if check.effort else "–",
            check.figure,
            "held" if check.passed else "FAILED",
        )
        for check in checks
    ]
    page.table(("what", "tries", "found", "verdict"), rows, numeric=(1,), caption=title)


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
