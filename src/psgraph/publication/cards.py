"""What a notebook shows of a release, a certificate, the spending and a plan.

Nothing here goes beyond what the objects say in text: noisy values and public facts. Without Jinja2
(the extra ``report``) every card is None, and the notebook shows that text instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from psgraph._runtime.html import Block, bar, card, facts, grid, note, paragraph
from psgraph._runtime.numbers import NO_VALUE, budget_words, count, exact_decimal, significant

if TYPE_CHECKING:
    from psgraph.publication.certificate import Certificate, Release
    from psgraph.publication.planning import Plan
    from psgraph.publication.releases import Releases
    from psgraph.publication.terms import Promise, Spending

__all__ = ["certificate_card", "plan_card", "release_card", "releases_card", "spending_card"]

_MOST_ROWS = 20


def certificate_card(certificate: Certificate) -> str | None:
    """The promise, what was spent on what, and what the publisher declared."""
    parameters = ", ".join(f"{name}={value}" for name, value in certificate.parameters.items())
    charges = [
        (
            charge.label,
            charge.mechanism,
            exact_decimal(charge.epsilon),
            str(charge.sensitivity),
        )
        for charge in certificate.charges
    ]
    return card(
        f"Certificate of {_when(certificate)}",
        _promise(certificate.promise),
        facts(
            [
                ("spent", _spent(certificate)),
                ("method", certificate.method + (f" ({parameters})" if parameters else "")),
                ("graph", _size(certificate)),
                ("roster", certificate.roster),
                ("times", certificate.times or ""),
                ("psgraph", certificate.version),
                ("digest", certificate.digest[:16] + "…"),
            ]
        ),
        grid(("measured", "mechanism", "ε", "sensitivity"), charges, left=2) if charges else None,
    )


def release_card(release: Release) -> str | None:
    """The size of the graph and the promise."""
    certificate = release.certificate
    return card(
        f"Release of {_when(certificate)}",
        facts(
            [
                ("synthetic graph", _size(certificate)),
                ("spent", _spent(certificate)),
                ("method", certificate.method),
            ]
        ),
        _promise(certificate.promise),
    )


def releases_card(releases: Releases) -> str | None:
    """The releases of a directory by their certificates; no graph is read."""
    shown = releases.certificates[:_MOST_ROWS]
    rows = [
        (
            str(each.timestamp),
            each.time or NO_VALUE,
            f"{each.nodes:,}",
            f"{each.edges:,}",
            exact_decimal(each.spent),
        )
        for each in shown
    ]
    left_out = len(releases.certificates) - len(shown)
    return card(
        f"Releases of {count(len(releases), 'timestamp')}",
        grid(("timestamp", "time", "nodes", "synthetic edges", "ε spent"), rows, left=2),
        paragraph(f"… and {left_out:,} more") if left_out else None,
        _promise(releases.certificates[-1].promise),
    )


def spending_card(spending: Spending) -> str | None:
    """Spent and available ε, with a bar."""
    epsilon = exact_decimal(spending.guarantee.epsilon)
    spent = f"{budget_words(spending.spent)} of {epsilon}"
    return card(
        "Privacy budget",
        bar(float(spending.spent / spending.guarantee.epsilon), f"{spent} spent"),
        facts(
            [
                ("spent", f"{spent} in {spending.window}" if spending.spends else "nothing"),
                (
                    "available",
                    f"{budget_words(spending.remaining)} for timestamp {spending.timestamps}",
                ),
                ("guarantee", str(spending.guarantee)),
            ]
        ),
    )


def plan_card(plan: Plan) -> str | None:
    """What each timestamp would measure and how noisy it would be."""
    rows = [
        (
            row.case,
            row.described,
            exact_decimal(row.epsilon),
            "" if row.sensitivity is None else str(row.sensitivity),
            row.noise if row.scale is None else significant(row.scale),
        )
        for row in plan.rows
    ]
    return card(
        f"Plan: {plan.method} on {count(plan.nodes, 'node')}",
        _promise(plan.promise),
        grid(("when", "one noisy value", "ε", "sensitivity", "noise scale"), rows, left=2),
        *(paragraph(remark) for remark in plan.remarks),
    )


def _promise(promise: Promise) -> Block:
    text = f"Private: {promise.verdict}. {promise}"
    return paragraph(text) if promise.kept else note(text)


def _when(certificate: Certificate) -> str:
    time = "" if certificate.time is None else f" ({certificate.time})"
    return f"timestamp {certificate.timestamp}{time}"


def _size(certificate: Certificate) -> str:
    return f"{count(certificate.nodes, 'node')}, {count(certificate.edges, 'synthetic edge')}"


def _spent(certificate: Certificate) -> str:
    epsilon, window = exact_decimal(certificate.guarantee.epsilon), certificate.guarantee.window
    return (
        f"ε = {budget_words(certificate.spent)} at this timestamp, "
        f"{budget_words(certificate.window_spent)} of {epsilon} in its window of {window}"
    )
