"""Facts about every data set, without opening any of them; also about those of the user's own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from psgraph.errors import DataError, InvalidArgument
from psgraph_lab.datasets.further import FURTHER, KINDS, LABELLED, SIMULATED, Counts, Dataset

if TYPE_CHECKING:
    from psgraph.graph import Snapshot

__all__ = [
    "OwnDataset",
    "add_dataset",
    "dataset_names",
    "find_dataset",
    "own_dataset",
]

UNDIRECTED = "undirected"
"""After a colon, the name of a data set that is published as undirected; see `kinds`."""

PEOPLE = "people"
"""After a colon, how the name of a data set begins whose rows have owners; see `owned`."""


@dataclass(frozen=True)
class OwnDataset:
    """A file or directory, and how to read it.

    Attributes
    ----------
    title
        The name in the definition, which pages show.
    options
        Options of `psgraph.read_stream`: roster, every and so on.
    """

    title: str
    path: Path
    options: Mapping[str, Any]

    @cached_property
    def name(self) -> str:
        """The title and a digest of the data and the options.

        Results are stored under it, so that those of other data never count as results of these.
        """
        options = {name: str(value) for name, value in self.options.items()}
        digest = hashlib.sha256(json.dumps(options, sort_keys=True).encode())
        roster = self.options.get("roster")
        for path in (self.path, *([roster] if isinstance(roster, Path) else [])):
            for file in _files(path):
                with file.open("rb") as stream:
                    digest.update(hashlib.file_digest(stream, "sha256").digest())
        return f"{self.title}@{digest.hexdigest()[:8]}"

    def load(self) -> list[Snapshot]:
        """Read all snapshots."""
        from psgraph.streams import read_stream

        return list(read_stream(self.path, **self.options))


def _files(path: Path) -> list[Path]:
    """The files of a directory in order, or the file itself."""
    return sorted(each for each in path.iterdir() if each.is_file()) if path.is_dir() else [path]


_OWN: dict[str, OwnDataset] = {}


def add_dataset(dataset: OwnDataset) -> str:
    """Make a data set known in this process; returns the name that results are stored under."""
    try:
        name = dataset.name
    except OSError as error:
        raise DataError(
            f"the data set {dataset.title!r} can't be read: {error.strerror}\n"
            "Check its path and its roster; both are relative to the definition."
        ) from None
    _OWN[name] = dataset
    return name


def own_dataset(name: str) -> OwnDataset | None:
    """Return a data set that was made known; None for others."""
    return _OWN.get(str(name))


# ---- the catalogue ----


_SNAP = "https://snap.stanford.edu/data"


_DATASETS = (
    Dataset(
        name="as-733",
        title="As-733",
        description="Autonomous systems of the Internet that exchange traffic, from BGP logs; "
        "733 daily graphs, 1997-11-08 to 2000-01-02.",
        source=f"{_SNAP}/as-733.html",
        licence="none stated; collected by the Route Views project of the University of Oregon. "
        "Cite Leskovec, Kleinberg and Faloutsos (KDD 2005).",
        size="733 files, tens of megabytes packed",
        selection="every 5th file by name: 147 days, 1997-11-08 to 1999-12-31. "
        "Directions, duplicates and self-loops are dropped.",
        files=("as-733.parquet", "as733.parquet"),
        downloads=(f"{_SNAP}/as-733.tar.gz",),
        paper=Counts(7_473, 22_705, 147),
        paper_self_loops=2_539,
        discrepancy="none: 20,166 edges between two nodes and 2,539 distinct self-loops, which "
        "the paper counts as edges, make the paper's 22,705.",
    ),
    Dataset(
        name="as-caida",
        title="As-caida",
        description="Autonomous systems of the Internet and their business relations, derived by "
        "CAIDA; 122 graphs, 2004-01-05 to 2007-11-05.",
        source=f"{_SNAP}/as-Caida.html",
        licence="none stated; CAIDA asks to be acknowledged. "
        "Cite Leskovec, Kleinberg and Faloutsos (KDD 2005).",
        size="122 files, tens of megabytes packed",
        selection="every 5th file by name: 25 days, 2004-01-05 to 2007-11-05. "
        "Directions, relation types and duplicates are dropped.",
        files=("as-caida.parquet", "ascaida.parquet"),
        downloads=(f"{_SNAP}/as-caida.tar.gz",),
        paper=Counts(31_092, 97_164, 25),
        discrepancy="none.",
    ),
    Dataset(
        name="cit-hepph",
        title="Cit-HepPh",
        description="Citations among the papers of arXiv's high-energy physics phenomenology, "
        "from the KDD Cup 2003.",
        source=f"{_SNAP}/cit-HepPh.html",
        licence="none stated; released for the KDD Cup 2003. "
        "Cite Leskovec, Kleinberg and Faloutsos (KDD 2005).",
        size="421,578 citations in 2 files, a few megabytes packed",
        selection="36 months, 1997-01 to 1999-12: the citations made by the papers of the month, "
        "both papers published in these months. Directions and duplicates are dropped.",
        files=("cit-hepph.parquet",),
        downloads=(f"{_SNAP}/cit-HepPh.txt.gz", f"{_SNAP}/cit-HepPh-dates.txt.gz"),
        paper=Counts(12_905, 764_525, 36),
        discrepancy="the paper says 36 months, from January 1996 to December 1999, which is 48, "
        "and 764,525 edges, although the whole source has 421,578. No selection of these "
        "citations can give that; the co-author graph of the same papers (KONECT ca-cit-HepPh) "
        "might.",
    ),
    Dataset(
        name="reddit",
        title="Reddit",
        description="Posts of one subreddit that link to another, 2014 to 2017.",
        source=f"{_SNAP}/soc-RedditHyperlinks.html",
        licence="none stated. Cite Kumar, Hamilton, Leskovec and Jurafsky (WWW 2018).",
        size="about 858,000 links in 2 files, several hundred megabytes",
        selection="24 months, 2014-01 to 2015-12, by the timestamps as written: the month's "
        "links in titles, in bodies or in both, whichever is closest to the paper's counts. "
        "Directions, duplicates and links from a subreddit to itself are dropped.",
        files=("reddit.parquet",),
        downloads=(
            f"{_SNAP}/soc-redditHyperlinks-title.tsv",
            f"{_SNAP}/soc-redditHyperlinks-body.tsv",
        ),
        paper=Counts(34_191, 125_162, 24),
        discrepancy="the paper does not say which of the two files it used. The bodies are "
        "reported to have 35,776 subreddits over all 40 months, so the titles are more likely. "
        "It calls the nodes posts; they are subreddits.",
    ),
    Dataset(
        name="hepph-partial",
        title="HepPh (partial)",
        description="Cit-HepPh from a copy with 201,300 of its 421,578 citations.",
        source=f"{_SNAP}/cit-HepPh.html",
        licence="as Cit-HepPh",
        size="200 kB as Parquet",
        selection="as Cit-HepPh: 36 months, 1997-01 to 1999-12.",
        files=("hepph-partial.parquet", "hepph.parquet"),
        stand_in_for="cit-hepph",
        discrepancy="incomplete source; no selection of it gives the paper's counts.",
    ),
    Dataset(
        name="reddit-shared",
        title="Reddit (shared authors)",
        description="Subreddits that share authors: a dense, fast-changing stream.",
        source="derived from public Reddit comments",
        licence="none stated",
        size="460 kB as Parquet",
        selection="18 months, 2008-01 to 2009-06.",
        files=("reddit-shared.parquet", "redditshared.parquet"),
        stand_in_for="reddit",
        discrepancy="different edges (shared authors) and years from the paper's Reddit.",
    ),
    Dataset(
        name="wiki-talk",
        title="Wiki-talk",
        description="Wikipedia users who edit each other's talk pages.",
        source="derived from the public edit history of Wikipedia's talk pages",
        licence="none stated",
        size="360 kB as Parquet",
        selection="24 months, 2003-05 to 2005-04, chosen to match the number of nodes of the "
        "paper's Reddit.",
        files=("wiki-talk.parquet", "wikitalk.parquet"),
        stand_in_for="reddit",
        discrepancy="a different network; only its size is similar to the paper's Reddit.",
    ),
    *FURTHER,
    *LABELLED,
    *KINDS,
    *SIMULATED,
    Dataset(
        name="demo",
        title="Demo",
        description="Messages in a fictitious company over twelve months, with a merger in "
        "September.",
        source="psgraph.streams.demo",
        licence="part of psgraph",
        size="generated on demand",
        selection="all of it",
    ),
)


def dataset_names() -> tuple[str, ...]:
    """Return the names of all data sets: the paper's four, stand-ins, further streams, the demo.

    >>> dataset_names()[:4]
    ('as-733', 'as-caida', 'cit-hepph', 'reddit')
    """
    return tuple(dataset.name for dataset in _DATASETS)


def find_dataset(name: str) -> Dataset:
    """Find a data set by name, ignoring case; also one that is changed for an experiment.

    Such names have a colon: see `jumps`, `kinds` (as undirected) and `owned` (by person).

    >>> find_dataset("As-733").paper
    Counts(nodes=7473, edges=22705, timestamps=147, self_loops=None)
    """
    base, _, changed = str(name).lower().rpartition(":")
    if base and changed == UNDIRECTED:
        found = find_dataset(base)
        return replace(found, name=name, title=f"{found.title}, published undirected")
    for dataset in _DATASETS:
        if dataset.name == str(name).lower():
            return dataset
    if changed.partition("-")[0] == PEOPLE:
        from psgraph_lab.datasets.owned import find_people

        people = find_people(name)
        if people is not None:
            found = find_dataset(people.base)
            short = found.title.partition(",")[0]
            return replace(found, name=name, title=f"{short}, {people.words}")
    if ":" in str(name):
        from psgraph_lab.datasets.jumps import find_jump

        base, jump = find_jump(str(name).lower())
        if jump is not None:
            found = find_dataset(base)
            return replace(found, name=name, title=f"{found.title}, {jump.title}", paper=None)
    own = own_dataset(name)
    if own is not None:
        about = "Data of the user's own."
        return Dataset(name, own.title, about, source="", licence="", size="", selection="")
    raise InvalidArgument(
        f"there is no data set {str(name)!r}\nChoose one of: {', '.join(dataset_names())}."
    )
