"""Streams that the paper does not use: others of its kind, of other kinds, and with labels."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["FURTHER", "KINDS", "LABELLED", "SIMULATED", "Counts", "Dataset"]


@dataclass(frozen=True)
class Counts:
    """The size of a stream: distinct nodes and undirected edges over all timestamps.

    Attributes
    ----------
    self_loops
        Distinct self-loops, which `edges` leaves out; None where they were dropped uncounted.
    """

    nodes: int
    edges: int
    timestamps: int
    self_loops: int | None = None


@dataclass(frozen=True)
class Dataset:
    """One data set.

    Attributes
    ----------
    paper
        Counts in the paper's table, self-loops included; None if the paper does not use it.
    stand_in_for
        The data set of the paper that this one replaces, if it is a stand-in.
    source
        A page about where it comes from.
    downloads
        Addresses of its original files; without any, it has to be given with ``--from``.
    checksum
        SHA-256 of the first of `downloads`, once known.
    files
        Names of its Parquet file; `fetch` writes the first.
    selection
        Which part of the source is used, and how.
    discrepancy
        Known differences from the paper's counts.
    paper_self_loops
        Self-loops among the paper's edges.
    kind, weights
        The name of its kind of graph, and the largest weight that is declared; None without
        weights. See `kinds`.
    """

    name: str
    title: str
    description: str
    source: str
    licence: str
    size: str
    selection: str
    files: tuple[str, ...] = ()
    downloads: tuple[str, ...] = ()
    checksum: str | None = None
    stand_in_for: str | None = None
    paper: Counts | None = None
    paper_self_loops: int = 0
    discrepancy: str = ""
    kind: str = "undirected"
    weights: int | None = None


def _stream(
    name: str,
    title: str,
    description: str,
    size: str,
    selection: str,
    file: str,
    *,
    kind: str = "undirected",
    weights: int | None = None,
) -> Dataset:
    return Dataset(
        name=name,
        title=title,
        description=description,
        source="public research data; the source of this copy is not recorded",
        licence="none stated",
        size=f"{size} as Parquet",
        selection=selection,
        files=(f"{name}.parquet", f"{file}.parquet"),
        kind=kind,
        weights=weights,
    )


# Streams that the paper does not use: other sizes, densities and ways to change. PSGraph+ is judged
# on them as well, because a method tuned on the paper's streams alone may fit nothing else.
FURTHER = (
    _stream(
        "bitcoin-alpha",
        "Bitcoin Alpha",
        "Ratings of traders on Bitcoin Alpha; tiny at both ends.",
        "45 kB",
        "63 months, 2010-11 to 2016-01; 13 to 799 nodes.",
        "bitcoinalpha_monthly",
    ),
    _stream(
        "bitcoin-otc",
        "Bitcoin OTC",
        "Ratings of traders on Bitcoin OTC; tiny at both ends.",
        "68 kB",
        "63 months, 2010-11 to 2016-01; 26 to 799 nodes.",
        "bitcoinotc_monthly",
    ),
    _stream(
        "canparl",
        "CanParl",
        "Votes in a parliament: dense, with a few nodes linked to nearly all others.",
        "57 kB",
        "14 years; 306 to 476 nodes.",
        "canparl_year",
    ),
    _stream(
        "college-msg",
        "College messages",
        "Messages at a college: sparse and small.",
        "45 kB",
        "28 weeks, 2004-04-15 to 2004-10-21; 77 to 909 nodes.",
        "collegemsg_weekly",
    ),
    _stream(
        "dblp",
        "DBLP",
        "Co-authors, new links only; very strongly clustered.",
        "330 kB",
        "19 years, 2000 to 2018; 519 to 6,981 nodes.",
        "dblp_yearly",
    ),
    _stream(
        "email-eu",
        "Email-EU",
        "E-mail within an institution with departments; strongly clustered.",
        "200 kB",
        "75 weeks; 52 to 667 nodes.",
        "emaileu_weekly",
    ),
    _stream(
        "facebook-wall",
        "Facebook wall",
        "Wall posts, new links only; grows by four orders of magnitude.",
        "800 kB",
        "52 months, 2004-10 to 2009-01; 2 to 17,159 nodes.",
        "facebookwall_newlinks_monthly",
    ),
    _stream(
        "high-school",
        "High school 2013",
        "Contacts of pupils in classes: communities, clustered.",
        "39 kB",
        "41 hours; 139 to 286 nodes.",
        "highschool2013_hour",
    ),
    _stream(
        "math-overflow",
        "MathOverflow",
        "Users of MathOverflow who interact, new links only.",
        "550 kB",
        "79 months, 2009-09 to 2016-03; 10 to 1,568 nodes.",
        "mathoverflow_newlinks_monthly",
    ),
    _stream(
        "radoslaw-email",
        "Radoslaw e-mail",
        "E-mail of a small company; a third of the edges persists.",
        "23 kB",
        "40 weeks; 99 to 148 nodes.",
        "radoslaw_email_week",
    ),
    _stream(
        "wiki-talk-2004",
        "Wiki-talk 2004–2005",
        "A larger window of the source of Wiki-talk; few edges persist.",
        "1 MB",
        "24 months, 2004-01 to 2005-12; 1,447 to 27,772 nodes.",
        "wikitalk_monthly_2004_2005",
    ),
)

# Directed, two-sided and weighted streams. Weights above the largest one count as that.
KINDS = (
    _stream(
        "college-messages",
        "Messages, directed",
        "Messages at a college with their direction and number; grows twentyfold in its first "
        "weeks.",
        "120 kB",
        "28 weeks; 1,899 nodes, 54 to 4,354 edges; weights up to 16.",
        "collegemsg_week",
        kind="directed",
        weights=16,
    ),
    _stream(
        "department-email",
        "E-mails, directed",
        "E-mails of a department with their direction and number; half of the edges persist.",
        "90 kB",
        "75 weeks; 309 nodes, 74 to 550 edges; weights up to 16.",
        "emaileu_dept1_week",
        kind="directed",
        weights=16,
    ),
    _stream(
        "trips",
        "Trips, directed",
        "Trips between zones of a city, from consecutive check-ins, all riders together.",
        "160 kB",
        "20 weeks; 373 nodes, 153 to 1,557 edges; weights up to 16.",
        "nyc_trips_week",
        kind="directed",
        weights=16,
    ),
    _stream(
        "film-ratings",
        "Films, two-sided",
        "Users who rate films, the rating as weight; no edge persists.",
        "350 kB",
        "31 weeks; 943 users and 1,682 films, 1,150 to 8,972 edges; weights up to 5.",
        "movielens_week",
        kind="two-sided",
        weights=5,
    ),
)


# Streams whose nodes have public labels, for the experiment on them.
LABELLED = (
    _stream(
        "high-school-classes",
        "High school 2013, with classes",
        "Contacts of pupils, each labelled with a class; all pupils are on the roster.",
        "40 kB",
        "41 hours; 329 nodes, 9 classes.",
        "highschool2013_classes_hour",
    ),
    _stream(
        "high-school-2012-classes",
        "High school 2012, with classes",
        "Contacts of pupils, each labelled with a class; very few at night.",
        "20 kB",
        "28 times 4 hours; 180 nodes, 5 classes.",
        "highschool2012_classes_4hour",
    ),
    Dataset(
        name="demo-departments",
        title="Demo, with departments",
        description="The demo, each person labelled with a department.",
        source="psgraph.streams.demo",
        licence="part of psgraph",
        size="generated on demand",
        selection="all of it",
    ),
    Dataset(
        name="planted",
        title="Planted groups",
        description="A simulated graph of 20,000 nodes with 30 planted groups, hubs and triangles.",
        source="psgraph_lab.datasets.labelled",
        licence="part of psgraph",
        size="generated on demand",
        selection="10 timestamps, 100,000 edges each, 5 % of them replaced from one to the next.",
    ),
)

# Made here, since no public data has that many people who can be told apart.
SIMULATED = (
    Dataset(
        name="simulated-trips",
        title="Simulated trips",
        description="Trips of 100,000 riders between 265 places, of whom 30,000 go out at a "
        "timestamp.",
        source="psgraph_lab.datasets.riders",
        licence="part of psgraph",
        size="generated on demand",
        selection="10 timestamps; about 72,000 trips and 14,600 pairs of places each.",
        kind="directed",
    ),
    Dataset(
        name="simulated-views",
        title="Simulated views",
        description="Views of 1,000 pages by 8,000 people, of whom 1,000 view something at a "
        "timestamp.",
        source="psgraph_lab.datasets.riders",
        licence="part of psgraph",
        size="generated on demand",
        selection="20 timestamps.",
        kind="two-sided",
    ),
)
