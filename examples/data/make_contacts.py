"""Simulate the contact stream of the examples: who met whom on a campus, week by week.

Nobody in it exists. ``python examples/data/make_contacts.py`` writes `contacts.parquet` (one row
per week and pair of people) and `people.csv` (the public roster); the same rows every time.

480 people work in six teams for twenty weeks. Most meet a dozen colleagues, mostly of their own
team; a few coordinators meet ten times as many people. Every week some ties end and others begin.
Four things happen that an analyst may want to find:

* from week 5 on, one person takes over a project and meets more people every week;
* in week 10 the teams Optics and Robotics move into one building, and their people mix;
* in weeks 14 and 15 the campus is half closed, and two thirds of the contacts don't take place;
* in week 16 the busiest person leaves.
"""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).parent
SEED = 20_240_101
WEEKS = 20
TEAMS = {"Optics": 110, "Robotics": 95, "Genomics": 90, "Materials": 75, "Climate": 60, "IT": 50}

MEAN_DEGREE, GROWTH, WOBBLE = 22.0, 0.01, 0.02  # growth and its standard deviation per week
INSIDE = 0.8  # share of contacts within a team
ENDED = 0.15  # share of ties that end every week
NEW_COORDINATOR, TAKEOVER, NEW_TIES = 300, 5, 14  # who, from when on, ties gained per week
MOVE, MIXED = 10, ("Optics", "Robotics")
CLOSED, STAYED_HOME = (14, 15), 2 / 3
DEPARTURE = 16

Pairs = set[tuple[int, int]]


def main() -> None:
    sizes = [len(pairs) for pairs in write(HERE)]
    people = sum(TEAMS.values())
    print(f"{people} people, {WEEKS} weeks, {min(sizes):,} to {max(sizes):,} contacts a week")


def write(folder: Path) -> list[Pairs]:
    """Simulate the stream and write both files."""
    rng = np.random.default_rng(SEED)
    names = list(TEAMS)
    team = rng.permutation(np.repeat(np.arange(len(names)), list(TEAMS.values())))
    activity = np.minimum((1 - rng.random(team.size)) ** (-1 / 1.6), 25.0)  # heavy-tailed, capped
    activity[NEW_COORDINATOR] = 1.0
    weeks = simulate(team, activity, rng)
    write_people(folder / "people.csv", [names[each] for each in team])
    write_contacts(folder / "contacts.parquet", weeks)
    return weeks


def simulate(team: np.ndarray, activity: np.ndarray, rng: np.random.Generator) -> list[Pairs]:
    """Return the contacts of every week as pairs of positions."""
    place = team.copy()
    busiest = int(activity.argmax())
    ties: Pairs = set()
    weeks = []
    for week in range(WEEKS):
        if week == MOVE:
            first, second = (list(TEAMS).index(name) for name in MIXED)
            place[place == second] = first
        if week == DEPARTURE:
            activity[busiest] = 0.0
            ties = {pair for pair in ties if busiest not in pair}
        ties = {pair for pair in sorted(ties) if rng.random() >= ENDED}
        wanted = MEAN_DEGREE * team.size / 2 * (1 + GROWTH * week + WOBBLE * rng.normal())
        if week >= TAKEOVER:
            others = rng.choice(team.size, NEW_TIES, replace=False).tolist()
            ties |= {
                ordered(NEW_COORDINATOR, other) for other in others if other != NEW_COORDINATOR
            }
        while len(ties) < wanted:
            ties.add(draw(place, activity, rng))
        open_week = week not in CLOSED
        weeks.append({pair for pair in sorted(ties) if open_week or rng.random() >= STAYED_HOME})
    return weeks


def draw(place: np.ndarray, activity: np.ndarray, rng: np.random.Generator) -> tuple[int, int]:
    """Draw two people who meet: one by activity, the other by activity in the team or anywhere."""
    while True:
        one = pick(activity, rng)
        near = activity * (place == place[one]) if rng.random() < INSIDE else activity
        other = pick(near, rng)
        if one != other:
            return ordered(one, other)


def pick(weights: np.ndarray, rng: np.random.Generator) -> int:
    sums = np.cumsum(weights)
    return int(np.searchsorted(sums, rng.random() * sums[-1], side="right"))


def ordered(one: int, other: int) -> tuple[int, int]:
    return (one, other) if one < other else (other, one)


def write_people(path: Path, teams: list[str]) -> None:
    with path.open("w", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["id", "team"])
        rows.writerows(enumerate(teams))


def write_contacts(path: Path, weeks: list[Pairs]) -> None:
    rows = np.array(
        [(week, *pair) for week, pairs in enumerate(weeks) for pair in sorted(pairs)],
        dtype=np.int32,
    )
    columns = {name: pa.array(rows[:, index]) for index, name in enumerate("tuv")}
    pq.write_table(
        pa.table(columns),
        path,
        compression="zstd",
        compression_level=19,
        use_dictionary=False,
        column_encoding=dict.fromkeys("tuv", "DELTA_BINARY_PACKED"),
        store_schema=False,
    )


if __name__ == "__main__":
    main()
