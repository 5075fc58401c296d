"""Experiments: one TOML file per figure or table of the paper."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import Any, Literal

from psgraph.errors import InvalidArgument
from psgraph.methods.registry import find_method
from psgraph_lab.datasets.catalogue import UNDIRECTED
from psgraph_lab.datasets.jumps import WITHOUT, find_jump
from psgraph_lab.datasets.owned import find_people
from psgraph_lab.experiments.cells import Cell, Parameter, RosterKind

__all__ = [
    "Experiment",
    "Line",
    "experiment_names",
    "find_experiment",
    "over_time_experiments",
]

Axis = Literal["epsilon", "window", "threshold", "timestamp", "share", "none"]
Kind = Literal["quality", "cost", "claims", "calibration"]
View = Literal["lines", "heat map", "jumps"]

_ORDER = (
    "end-to-end",
    "judgement",
    "components",
    "window",
    "threshold",
    "scalability",
    "cost",
    "timestamps",
    "plus",
    "plus-windows",
    "plus-roster",
    "plus-jumps",
    "plus-ablation",
    "labels",
    "kinds",
    "people",
    "calibration",
    "claims",
)


@dataclass(frozen=True)
class Line:
    """One line of a figure: a method with its parameters.

    Attributes
    ----------
    repetitions
        Fewer than the experiment's, for a slow method; None for the same number.
    fresh
        Whether results count only if they come from the method's current source: it is still being
        changed, and results of two versions must not be mixed.
    without_jump
        Whether it is run on the streams as they were before their jumps.
    roster
        Which roster it gets, if not that of the experiment.
    as_undirected
        Whether the streams are published as undirected and the releases turned back; see
        `psgraph_lab.datasets.kinds`.
    group, edges
        Of streams with owners: whether the edges in use are published with ε divided by their
        number, and whether all edges are, each protected on its own; see
        `psgraph_lab.datasets.owned`.
    """

    label: str
    method: str
    parameters: tuple[tuple[str, Parameter], ...] = ()
    repetitions: int | None = None
    fresh: bool = False
    without_jump: bool = False
    roster: RosterKind | None = None
    as_undirected: bool = False
    group: bool = False
    edges: bool = False

    @property
    def is_variant(self) -> bool:
        """Whether it is anything but the method as it is, on the experiment's roster."""
        return bool(self.parameters) or self.roster is not None

    def on(self, dataset: str) -> str:
        """The name of what is run where the experiment has a data set."""
        people = find_people(dataset)
        if people is not None:
            return people.truth if self.edges else dataset + ("-group" if self.group else "")
        if self.as_undirected:
            return f"{dataset}:{UNDIRECTED}"
        return dataset + (WITHOUT if self.without_jump else "")


@dataclass(frozen=True)
class Experiment:
    """A figure or table: its cells and how they are shown.

    Attributes
    ----------
    paper
        Where the paper has it, for example "Fig. 2"; empty for an experiment of our own.
    kind
        ``quality`` compares with the truth; ``cost`` records time and memory, one cell at a time;
        ``claims`` runs nothing and reads the results of the others; ``calibration`` compares
        predicted with true errors.
    axis
        The x-axis; whatever else varies becomes lines.
    metrics
        Rows of the figure, one table each. Groups of metrics are requested as these need them.
    timestamps, shorter
        The number of snapshots, from the beginning of every data set, None for all; and fewer of
        some data sets.
    skipped
        Data sets on which a method is too slow to be run, by method.
    roster
        ``"union"`` for one fixed roster instead of one per snapshot.
    tuned, seen
        Data sets on which the subject was tuned, and others that were looked at while it was
        designed. The rest is reported separately.
    subject, rivals
        The line that is compared with others cell by cell, and with which above all; empty if the
        experiment compares none.
    main
        The metrics that wins and losses are summed up over; the paper's five unless given.
    view
        ``"lines"``: a line per method. ``"heat map"``: the subject against its rivals.
        ``"jumps"``: the same by jump, and against the streams without it.
    """

    name: str
    title: str
    paper: str
    about: str
    kind: Kind
    axis: Axis
    metrics: tuple[str, ...]
    datasets: tuple[str, ...]
    lines: tuple[Line, ...]
    epsilons: tuple[str, ...]
    windows: tuple[int, ...]
    thresholds: tuple[str, ...]
    shares: tuple[str, ...]
    repetitions: int
    timestamps: int | None = None
    shorter: tuple[tuple[str, int], ...] = ()
    skipped: tuple[tuple[str, tuple[str, ...]], ...] = ()
    roster: RosterKind = "snapshot"
    tuned: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    subject: str = ""
    rivals: tuple[str, ...] = ()
    main: tuple[str, ...] = ()
    view: View = "lines"

    def narrowed(
        self,
        *,
        datasets: Sequence[str] | None = None,
        methods: Sequence[str] | None = None,
        epsilons: Sequence[str] | None = None,
        repetitions: int | None = None,
    ) -> Experiment:
        """A copy with other data sets, fewer methods, other budgets or repetitions.

        An explicit number of repetitions applies to slow methods too.
        """
        lines = self.lines
        if methods is not None:
            there = {line.method for line in lines}
            for name in methods:
                if name not in there:
                    raise InvalidArgument(
                        f"{self.name} has no method called {name!r}\n"
                        f"It has {', '.join(sorted(there))}."
                    )
            lines = tuple(line for line in lines if line.method in methods)
        if repetitions is not None:
            lines = tuple(replace(line, repetitions=None) for line in lines)
        return replace(
            self,
            lines=lines,
            datasets=self.datasets if datasets is None else tuple(datasets),
            epsilons=self.epsilons if epsilons is None else tuple(epsilons),
            repetitions=self.repetitions if repetitions is None else repetitions,
        )

    def cells(self) -> list[Cell]:
        """All cells, repetition by repetition, so that an interruption leaves complete figures.

        Slow and fast cells are mixed within a repetition, so that the time left can be estimated.
        """
        found = dict.fromkeys(cell for point in self.points() for cell in self.at(*point))
        return sorted(found, key=lambda cell: (cell.repetition, cell.seed))

    def points(self) -> Iterator[tuple[str, Line, str, int, str | None, str]]:
        """Every combination of data set, line, ε, w, threshold and share of edges."""
        thresholds: tuple[str | None, ...] = self.thresholds or (None,)
        return product(
            self.datasets, self.lines, self.epsilons, self.windows, thresholds, self.shares
        )

    def at(
        self, dataset: str, line: Line, epsilon: str, window: int, threshold: str | None, share: str
    ) -> list[Cell]:
        """The repetitions of one combination."""
        parameters = dict(line.parameters)
        if threshold is not None:
            parameters["threshold"] = threshold
        few = self.repetitions if line.repetitions is None else line.repetitions
        if find_jump(dataset)[0] in dict(self.skipped).get(line.method, ()):
            return []
        return [
            Cell(
                line.on(dataset),
                line.method,
                epsilon,
                window,
                repetition,
                parameters=_not_default(line.method, tuple(sorted(parameters.items()))),
                timestamps=self._timestamps_of(dataset),
                share=share,
                roster=line.roster or self.roster,
            )
            for repetition in range(min(few, self.repetitions))
        ]

    def _timestamps_of(self, dataset: str) -> int | None:
        """How many snapshots of a data set are used."""
        shorter = dict(self.shorter).get(find_jump(dataset)[0], self.timestamps)
        if self.timestamps is None or shorter is None:
            return shorter
        return min(shorter, self.timestamps)


@cache
def _not_default(
    method: str, parameters: tuple[tuple[str, Parameter], ...]
) -> tuple[tuple[str, Parameter], ...]:
    """Drop parameters that equal their default, so that equal cells compare equal."""
    if not parameters:
        return ()
    usual = find_method(method)().parameters()
    wanted = find_method(method)(**dict(parameters)).parameters()
    return tuple((name, value) for name, value in parameters if wanted.get(name) != usual.get(name))


def experiment_names() -> tuple[str, ...]:
    """The names of all experiments, in the paper's order.

    >>> experiment_names()[0]
    'end-to-end'
    """
    return _ORDER


def find_experiment(name: str, *, quick: bool = False) -> Experiment:
    """Find an experiment by name; with `quick`, a version that takes at most two minutes.

    A name that ends in ``.toml`` is a file with a definition of one's own, see
    `psgraph_lab.experiments.own`.

    >>> find_experiment("threshold").thresholds
    ('0.01', '0.1', '1', '10', '100')
    """
    if name.lower().endswith(".toml"):
        return _find_own(Path(name))
    if name not in _ORDER:
        raise InvalidArgument(
            f"there is no experiment called {name!r}\n"
            f"There are {', '.join(_ORDER)}; or give a file with a definition, such as mine.toml."
        )
    text = (files("psgraph_lab.experiments") / "definitions" / f"{name}.toml").read_text()
    content = tomllib.loads(text)
    quickly = content.pop("quick", {})
    return _read(name, content | quickly if quick else content)


def _find_own(path: Path) -> Experiment:
    from psgraph_lab.experiments.own import read_own

    if path.stem in (*_ORDER, "all"):
        raise InvalidArgument(
            f"{path.name} has the name of an experiment of the package\nRename the file."
        )
    return _read(*read_own(path))


def over_time_experiments(
    datasets: Sequence[str], *, quick: bool = False, repetitions: int | None = None
) -> list[Experiment]:
    """The experiments drawn timestamp by timestamp; others may run their cells first.

    >>> [each.name for each in over_time_experiments(["as-733"])]
    ['timestamps']
    """
    found = [find_experiment(name, quick=quick) for name in _ORDER]
    return [
        experiment.narrowed(datasets=datasets, repetitions=repetitions)
        for experiment in found
        if experiment.axis == "timestamp"
    ]


def _read(name: str, content: dict[str, Any]) -> Experiment:
    lines = tuple(
        Line(
            label=line["label"],
            method=line["method"],
            parameters=tuple(sorted(line.get("parameters", {}).items())),
            repetitions=line.get("repetitions"),
            fresh=line.get("fresh", False),
            without_jump=line.get("without_jump", False),
            roster=line.get("roster"),
            as_undirected=line.get("as_undirected", False),
            group=line.get("group", False),
            edges=line.get("edges", False),
        )
        for line in content.get("lines", ())
    )
    return Experiment(
        name=name,
        title=content["title"],
        paper=content.get("paper", ""),
        about=content["about"],
        kind=content["kind"],
        axis=content["axis"],
        metrics=tuple(content.get("metrics", ())),
        datasets=_varied(content, "datasets"),
        lines=lines,
        epsilons=tuple(content.get("epsilons", ())),
        windows=tuple(content.get("windows", (5,))),
        thresholds=tuple(content.get("thresholds", ())),
        shares=tuple(content.get("shares", ("1",))),
        repetitions=content.get("repetitions", 10),
        timestamps=content.get("timestamps"),
        shorter=tuple(content.get("shorter", {}).items()),
        skipped=tuple(
            (method, tuple(datasets)) for method, datasets in content.get("skipped", {}).items()
        ),
        roster=content.get("roster", "snapshot"),
        tuned=_varied(content, "tuned"),
        seen=_varied(content, "seen"),
        subject=content.get("subject", ""),
        rivals=tuple(content.get("rivals", ())),
        main=tuple(content.get("main", ())),
        view=content.get("view", "lines"),
    )


def _varied(content: dict[str, Any], key: str) -> tuple[str, ...]:
    """The data sets of a list, each with every jump or every θ that the definition has."""
    names, jumps = content.get(key, ()), content.get("jumps", ())
    each = [*jumps, *(f"people-{most}" for most in content.get("at_most", ()))]
    return tuple(f"{name}:{one}" for name in names for one in each) if each else tuple(names)
