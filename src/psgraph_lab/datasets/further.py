"""Streams that the paper does not use: other sizes, densities and ways to change.

They are neither the paper's data sets nor stand-ins for them. PSGraph+ is judged on them as well,
because a method that is tuned on the paper's streams alone may fit nothing else.
"""

from __future__ import annotations

from psgraph_lab.datasets.entry import Dataset

__all__ = ["FURTHER"]


def _stream(
    name: str, title: str, description: str, size: str, selection: str, file: str
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
    )


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
