"""Every error psgraph raises on purpose.

::

    PsgraphError                    anything below
    ├── InvalidArgument             a parameter is wrong; nothing was read          (exit 2)
    │   ├── BudgetError             an epsilon, window or split makes no sense      (exit 2)
    │   └── KindMismatch            something is not defined on this kind of graph  (exit 2)
    ├── DataError                   the input can't be used as it stands            (exit 1)
    │   ├── RosterError             the public node list is missing or broken       (exit 1)
    │   ├── UnknownKind             a graph of a kind that this version can't read  (exit 1)
    │   └── OutsideRoster           a snapshot has an edge outside the roster       (exit 1)
    ├── OutputError                 the result can't be written there               (exit 1)
    ├── LedgerError                 the record of the stream can't be used          (exit 1)
    │   ├── LedgerBusy              another process is publishing with it           (exit 1)
    │   ├── MeasuringStopped        a timestamp was measured too often, not sealed  (exit 1)
    │   ├── TermsChanged            it was started under different terms            (exit 1)
    │   ├── OutOfOrder              a timestamp was skipped                         (exit 1)
    │   ├── ReplayConflict          a timestamp comes again with other data         (exit 1)
    │   ├── RosterChanged           the nodes of a published timestamp changed      (exit 1)
    │   └── VerificationFailed      something was changed, lost or swapped          (exit 1)
    ├── EngineError                 a cluster can't be reached or used, or was lost     (exit 1)
    ├── MissingExtra                an optional library is not installed            (exit 1)
    ├── MethodError                 a method broke its protocol                     (exit 1)
    │   └── UnitMismatch            the method is for a different unit of privacy   (exit 1)
    ├── ServiceError                a service can't be reached, or refused          (exit 1)
    │   └── AccessDenied            its token is missing, expired or not enough     (exit 1)
    └── BudgetExceeded              the window has not enough epsilon left          (exit 3)

A message states the fact, the numbers and the remedy. It never holds a node id, an edge or a
count taken from private data: messages end up in logs, and logs are published by accident.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, distribution
from urllib.parse import unquote, urlsplit

__all__ = [
    "AccessDenied",
    "BudgetError",
    "BudgetExceeded",
    "DataError",
    "EngineError",
    "InvalidArgument",
    "KindMismatch",
    "LedgerBusy",
    "LedgerError",
    "MeasuringStopped",
    "MethodError",
    "MissingExtra",
    "OutOfOrder",
    "OutputError",
    "OutsideRoster",
    "PsgraphError",
    "ReplayConflict",
    "RosterChanged",
    "RosterError",
    "ServiceError",
    "TermsChanged",
    "UnitMismatch",
    "UnknownKind",
    "VerificationFailed",
    "exact_decimal",
    "install_line",
]


_DISTRIBUTION = "psgraph-dp"


class PsgraphError(Exception):
    """Base of all errors raised on purpose; `exit_code` is what the command returns.

    `code` is a word for the reason, where one type has several: messages may be reworded, codes
    stay.
    """

    exit_code = 1

    def __init__(self, message: str = "", *, code: str = "") -> None:
        self.code = code
        super().__init__(message)


class InvalidArgument(PsgraphError, ValueError):
    """A parameter is wrong. Raised before any data is read."""

    exit_code = 2


class BudgetError(InvalidArgument):
    """An epsilon, a window or a split of a budget makes no sense."""


class KindMismatch(InvalidArgument):
    """A method, query, metric or reader is not defined on this kind of graph."""


class DataError(PsgraphError, ValueError):
    """The input can't be used as it stands."""


class RosterError(DataError):
    """The public node list is missing or broken."""


class UnknownKind(DataError):
    """A graph is of a kind (directed, two-sided, …) that this version can't read."""


class OutsideRoster(DataError):
    """A snapshot has an edge with an end outside the roster."""


class OutputError(PsgraphError, OSError):
    """The result can't be written there."""


class LedgerError(PsgraphError):
    """The durable record of a stream can't be used."""


class LedgerBusy(LedgerError):
    """Another process is publishing with this ledger."""


class MeasuringStopped(LedgerError):
    """A timestamp was measured several times and never sealed; a person has to allow more."""


class TermsChanged(LedgerError):
    """The ledger was started under different terms.

    `changed` holds what it was started with and what is given now, in words, by the name of the
    term.
    """

    def __init__(
        self,
        message: str,
        *,
        changed: Mapping[str, tuple[object, object]] | None = None,
        code: str = "",
    ) -> None:
        self.changed = dict(changed or {})
        super().__init__(message, code=code)


class OutOfOrder(LedgerError):
    """A timestamp was skipped."""


class ReplayConflict(LedgerError):
    """A timestamp that is already published, or measured, comes again with other data."""


class RosterChanged(LedgerError):
    """The public nodes of a timestamp that is already published were changed."""


class VerificationFailed(LedgerError):
    """A release, a certificate or a ledger is not what it was when it was made.

    `psgraph.publication.verification.verify` lists in `problems` everything it found.
    """

    problems: tuple[str, ...] = ()


class EngineError(PsgraphError, RuntimeError):
    """The cluster that does edge-sized work can't be reached, can't be used or was lost."""


class MissingExtra(PsgraphError, ImportError):
    """An optional library is not installed.

    The message names where psgraph was installed from. `on_a_server` does not: visitors read it.
    """

    def __init__(self, library: str, extra: str) -> None:
        self.on_a_server = (
            f"{library} is not installed on this server. "
            f"Its operator can add it: {_DISTRIBUTION}[{extra}]."
        )
        super().__init__(f"{library} is not installed.\nInstall it with: {install_line(extra)}")


class MethodError(PsgraphError, RuntimeError):
    """A method broke its protocol."""


class UnitMismatch(MethodError):
    """A method or a sensitivity is for a different unit than the guarantee."""


class ServiceError(PsgraphError):
    """A service could not be reached, or refused a request; `status` is its HTTP status, if any.

    `code` is the word by which the service names the reason.
    """

    def __init__(self, message: str, *, status: int | None = None, code: str = "") -> None:
        self.status = status
        super().__init__(message, code=code)


class AccessDenied(ServiceError):
    """The token is missing, unknown, expired or revoked, or its role does not permit this."""


class BudgetExceeded(PsgraphError):
    """More epsilon was asked for than is left."""

    exit_code = 3

    def __init__(self, *, requested: Fraction, remaining: Fraction, what: str) -> None:
        self.requested, self.remaining = requested, remaining
        super().__init__(
            f"{what} would overspend the privacy budget.\n"
            f"  requested   {exact_decimal(requested)}\n"
            f"  remaining   {exact_decimal(remaining)}\n"
            f"  difference  {exact_decimal(requested - remaining)}\n"
            "Nothing was measured. Ask for less, or wait until the window has moved on."
        )


def install_line(extra: str) -> str:
    """Return the command that adds an extra to this installation, from where psgraph came from.

    An installer records a directory, a wheel or a repository in ``direct_url.json`` (PEP 610);
    without that file the package came from an index or a directory of wheels, by its name.
    """
    try:
        recorded = distribution(_DISTRIBUTION).read_text("direct_url.json")
        origin = json.loads(recorded) if recorded else {}
        url, directory = origin.get("url", ""), origin.get("dir_info", {})
    except (PackageNotFoundError, ValueError, AttributeError):
        url, directory, origin = "", {}, {}
    if not url:
        return f"pip install '{_DISTRIBUTION}[{extra}]'"
    if url.startswith("file://"):
        path = unquote(urlsplit(url).path)
        return f"pip install {'-e ' if directory.get('editable') else ''}'{path}[{extra}]'"
    repository = origin.get("vcs_info", {})
    if repository:
        url = f"{repository.get('vcs')}+{url}@{repository.get('commit_id')}"
    return f"pip install '{_DISTRIBUTION}[{extra}] @ {url}'"


def exact_decimal(value: Fraction) -> str:
    """Write a rational as a terminating decimal if it is one, else as a fraction.

    >>> exact_decimal(Fraction(1, 5)), exact_decimal(Fraction(1, 3)), exact_decimal(Fraction(-7))
    ('0.2', '1/3', '-7')
    """
    numerator, denominator = value.numerator, value.denominator
    twos = fives = 0
    while denominator % 2 == 0:
        denominator, twos = denominator // 2, twos + 1
    while denominator % 5 == 0:
        denominator, fives = denominator // 5, fives + 1
    digits = max(twos, fives)
    if denominator != 1 or digits > 30:
        return f"{value.numerator}/{value.denominator}"
    scaled = abs(numerator) * 10**digits // value.denominator
    text = str(scaled).rjust(digits + 1, "0")
    sign = "-" if numerator < 0 else ""
    return sign + (f"{text[:-digits]}.{text[-digits:]}" if digits else text)
