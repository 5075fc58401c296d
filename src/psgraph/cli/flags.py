"""Options that several commands have: the promise, the method, the engine, a service, output."""

from __future__ import annotations

import functools
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from psgraph.cli.screen import note
from psgraph.errors import BudgetError, InvalidArgument
from psgraph.methods import DEFAULT_METHOD
from psgraph.privacy.guarantee import WEventPrivacy, exact_epsilon

if TYPE_CHECKING:
    from psgraph.engines.runner import Runner
    from psgraph.methods.base import Method

__all__ = [
    "TOKEN_VARIABLE",
    "Checked",
    "EngineChoice",
    "OneOf",
    "Settings",
    "access_options",
    "build_method",
    "database_option",
    "decorated",
    "engine_options",
    "epsilon_option",
    "json_option",
    "measure_again_option",
    "method_option",
    "parse_window",
    "releases_option",
    "report_option",
    "seed_option",
    "settings_option",
    "trust_option",
    "window_option",
]

Function = TypeVar("Function", bound=Callable[..., Any])
Settings = Iterable[tuple[str, str]]

TOKEN_VARIABLE = "PSGRAPH_TOKEN"


def decorated(
    function: Any, options: Sequence[Callable[[Any], Any]], *, heading: str = "Options"
) -> Any:
    """Add options to a command; help lists them in this order, under a heading."""
    before = len(getattr(function, "__click_params__", ()))
    for option in reversed(options):
        function = option(function)
    for parameter in function.__click_params__[before:]:
        parameter.heading = heading
    return function


class Checked(click.ParamType[Any]):
    """A value parsed by one of psgraph's own functions; what that refuses is a usage error."""

    def __init__(self, name: str, read: Callable[[Any], Any]) -> None:
        self.name, self._read = name, read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self._read(value)
        except InvalidArgument as error:
            self.fail(str(error), param, ctx)


class OneOf(click.ParamType[str]):
    """One of several names, which are looked up when a value is given: help stays quick."""

    def __init__(self, name: str, names: Callable[[], Sequence[str]]) -> None:
        self.name, self._names = name, names

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        known = self._names()
        if value not in known:
            self.fail(f"{value!r} is not one of {', '.join(known)}.", param, ctx)
        return str(value)

    def shell_complete(
        self,
        ctx: click.Context,  # noqa: ARG002
        param: click.Parameter,  # noqa: ARG002
        incomplete: str,
    ) -> list[CompletionItem]:
        return [CompletionItem(name) for name in self._names() if name.startswith(incomplete)]


# ---- the promise and the method ----


def parse_window(text: str | int) -> int:
    """Parse a window; `WEventPrivacy` refuses others, quoting the text as it was written."""
    try:
        number: Any = int(text)
    except ValueError:
        number = text
    return WEventPrivacy(1, window=number).window


def _required_or(default: object, required: bool) -> dict[str, Any]:
    """Return the keywords of a default; click takes even None for one, so none is passed."""
    if default is None:
        return {"required": required}
    return {"default": default, "show_default": True}


def epsilon_option(
    default: str | None = None, *, required: bool = True
) -> Callable[[Function], Function]:
    """``--epsilon``, read exactly; required where it has no default."""
    return click.option(
        "--epsilon",
        type=Checked("epsilon", exact_epsilon),
        metavar="E",
        help="ε, the privacy budget of a window: 1, 0.5 or 1/3.",
        **_required_or(default, required),
    )


def window_option(
    default: int | None = None, *, required: bool = True
) -> Callable[[Function], Function]:
    """``--window``; required where it has no default."""
    return click.option(
        "--window",
        type=Checked("window", parse_window),
        metavar="W",
        help="w, the number of consecutive timestamps the budget is for.",
        **_required_or(default, required),
    )


def _complete_method(
    ctx: click.Context,  # noqa: ARG001
    param: click.Parameter,  # noqa: ARG001
    incomplete: str,
) -> list[CompletionItem | str]:
    from psgraph.methods.registry import method_names

    return [name for name in method_names() if name.startswith(incomplete)]


method_option = click.option(
    "--method",
    metavar="NAME",
    shell_complete=_complete_method,
    default=DEFAULT_METHOD,
    show_default=True,
    help="How graphs are generated; `psgraph methods` lists those installed.",
)


def _setting(text: str) -> tuple[str, str]:
    """Read ``NAME=VALUE``; the method's constructor decides what the value means."""
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise InvalidArgument(f"--set takes NAME=VALUE, not {text!r}")
    return name, value


settings_option = click.option(
    "--set",
    "settings",
    type=Checked("setting", _setting),
    metavar="NAME=VALUE",
    multiple=True,
    help="A parameter of the method; may be repeated. `psgraph methods` lists them.",
)


def build_method(name: str, settings: Settings, guarantee: WEventPrivacy) -> Method[Any, Any]:
    """Build the method that the options describe; refuse an ε too small to draw noise for."""
    from psgraph.methods import registry

    registry.find_method(name)
    chosen: dict[str, str] = {}
    for parameter, value in settings:
        if parameter in chosen:
            raise click.UsageError(f"--set {parameter} is given twice\nKeep one of them.")
        chosen[parameter] = value
    try:
        return registry.build_method(name, chosen, guarantee)
    except BudgetError:
        raise  # about ε, not about a setting
    except InvalidArgument as error:
        raise click.UsageError(f"--set for method {name!r}: {error}") from None


measure_again_option = click.option(
    "--measure-again",
    is_flag=True,
    help="Continue a stream that stopped because a timestamp was measured too often and never "
    "sealed. Find out why first; refused if it did not stop.",
)
seed_option = click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    help="For research: makes the run reproducible. Its releases are NOT private and say so.",
)


# ---- output ----

json_option = click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object on stdout and nothing else."
)

database_option = click.option(
    "--database",
    metavar="ADDRESS",
    envvar="PSGRAPH_DATABASE",
    help="PostgreSQL for tokens, sessions, the queue and the audit log, such as "
    "postgresql://user@host/name; by default a file in DIR. A password belongs into the "
    "environment variable PSGRAPH_DATABASE, which other users can't see.",
)


releases_option = click.option(
    "--releases",
    metavar="ADDRESS",
    envvar="PSGRAPH_RELEASES",
    help="Copy releases to an address that fsspec knows, such as s3://bucket/releases.",
)


def _report_path(text: str) -> Path:
    """Check that a page can be written there, before any work is done."""
    from psgraph._runtime.extras import require_report
    from psgraph.reports.page import check_writable

    path = Path(text)
    check_writable(path)
    require_report()
    return path


report_option = click.option(
    "--report",
    type=Checked("file", _report_path),
    metavar="FILE.html",
    help="Also write a page with pictures: one HTML file for any browser.",
)

trust_option = click.option(
    "--trust-seconds",
    type=click.FloatRange(min=0),
    metavar="S",
    default=5.0,
    show_default=True,
    help="Time for predicting how far the releases can be trusted; 0 leaves it out.",
)


# ---- where edge-sized work runs ----


@dataclass(frozen=True)
class EngineChoice:
    """The engine that the options describe; nothing is started before `open`."""

    name: str
    scheduler: str | None

    def __post_init__(self) -> None:
        if self.scheduler is not None and self.name != "dask":
            raise click.UsageError("--scheduler is for --engine dask\nGive both, or neither.")

    @contextmanager
    def open(self, source: str | None) -> Iterator[Runner]:
        """Start or connect to the engine, and stop or leave it at the end.

        Parameters
        ----------
        source
            The path or address of a store. None stands for other input, of which large snapshots
            go through scratch files.
        """
        from psgraph.engines.runner import open_engine

        with ExitStack() as stack:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", UserWarning)
                engine = stack.enter_context(open_engine(self.name, scheduler=self.scheduler))
            for each in caught:
                note(str(each.message))
            if self.scheduler is not None:
                _check_access(engine, source)
            yield engine


def _engine_names() -> list[str]:
    from psgraph.engines.runner import engine_names

    return engine_names()


_ENGINE_OPTIONS = (
    click.option(
        "--engine",
        type=OneOf("engine", _engine_names),
        metavar="NAME",
        default="local",
        show_default=True,
        help="Where edges are counted and drawn: local (this process), dask (a Dask cluster) or an "
        "engine of another package. The releases are the same.",
    ),
    click.option(
        "--scheduler",
        metavar="ADDRESS",
        help="With --engine dask: the scheduler of a running cluster, tls://HOST:PORT. Otherwise "
        "psgraph starts worker processes on this machine.",
    ),
)


def engine_options(function: Function) -> Callable[..., Any]:
    """Add ``--engine`` and ``--scheduler``, passed to the command as one `EngineChoice`."""

    @functools.wraps(function)
    def with_engine(*, engine: str, scheduler: str | None, **given: Any) -> Any:
        return function(engine=EngineChoice(engine, scheduler), **given)

    made: Callable[..., Any] = decorated(with_engine, _ENGINE_OPTIONS, heading="Engine")
    return made


def _check_access(engine: Any, source: str | None) -> None:
    """Refuse workers that can't read what this command will have them read.

    The check does not depend on the size of the input, which is private.
    """
    from psgraph._runtime.resources import scratch_directory
    from psgraph.stores.part_files import as_place
    from psgraph.stores.store import MANIFEST

    if source is not None:
        place = as_place(source)
        if isinstance(place, Path):
            engine.check_access(
                place / MANIFEST,
                "Put the store into a directory that all machines share, or at an address: "
                "psgraph prepare --to s3://…",
            )
        return
    with scratch_directory() as directory:
        (directory / "access").write_bytes(b"psgraph")
        engine.check_access(
            directory / "access",
            "Large snapshots go through temporary files. Set TMPDIR to a directory that all "
            "machines share, or publish a store: psgraph prepare.",
        )


# ---- access to a service ----

_ACCESS_OPTIONS = (
    click.argument("url", metavar="URL"),
    click.argument("stream", metavar="STREAM"),
    click.option(
        "--token-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help=f"The file that holds the token; otherwise the variable {TOKEN_VARIABLE}. A token is "
        "never an argument: other users of this machine can read those.",
    ),
    click.option(
        "--ca-file",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="The certificates to trust, if the system does not trust that of the service.",
    ),
)


def access_options(function: Function) -> Callable[..., Any]:
    """Add URL, STREAM and the token, passed to the command as `client` and `stream`."""

    @functools.wraps(function)
    def with_client(url: str, token_file: Path | None, ca_file: Path | None, **given: Any) -> Any:
        from psgraph.client import Client

        return function(client=Client(url, _token(token_file), certificates=ca_file), **given)

    made: Callable[..., Any] = decorated(with_client, _ACCESS_OPTIONS, heading="Access")
    return made


def _token(file: Path | None) -> str | None:
    """Read the token; None if there is none, which is enough for public streams."""
    if file is None:
        return os.environ.get(TOKEN_VARIABLE, "").strip() or None
    try:
        with file.open(encoding="ascii") as opened:
            return opened.read(1000).strip()
    except (OSError, ValueError):
        raise click.UsageError(
            f"the token in {file} can't be read\nIt holds the token on one line, and nothing else."
        ) from None
