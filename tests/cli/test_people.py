"""People instead of edges, from a table of trips to what an analyst and the curator are told."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest

from .commands import psgraph_here

OWNERS, ZONES, TRIPS, STEPS = 600, 12, 4, 2
OPTIONS = ("--columns", "u=origin,v=destination", "--directed", "--flows", "--owner", "rider")


@pytest.fixture(scope="module")
def trips(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Every rider makes four trips at each timestamp, of which one is used."""
    folder, rng = tmp_path_factory.mktemp("trips"), np.random.default_rng(4)
    rows, zones = folder / "trips.csv", folder / "zones.csv"
    with rows.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["t", "origin", "destination", "rider"])
        for step in range(STEPS):
            for rider in range(OWNERS):
                for _ in range(TRIPS):
                    origin = int(ZONES * rng.random() ** 2)
                    away = 1 + rng.integers(ZONES - 1)
                    writer.writerow([step, origin, (origin + away) % ZONES, f"r{rider}"])
    zones.write_text("id\n" + "".join(f"{zone}\n" for zone in range(ZONES)))
    out = folder / "out"
    options = (rows, "--roster", zones, *OPTIONS, "--at-most", 1)
    done = psgraph_here("publish", *options, "--epsilon", 8, "--window", 1, "--out", out)
    assert done.code == 0, done.err
    return {"rows": rows, "zones": zones, "out": out}


def test_the_promise_is_about_people(trips):
    done = psgraph_here("verify", trips["out"], "--json")
    assert done.code == 0, done.err
    certificate = json.loads((trips["out"] / "000000.json").read_text())
    assert (certificate["column"], certificate["at_most"]) == ("rider", 1)
    assert "edges_used" not in done.out + json.dumps(certificate)


def test_releases_are_compared_with_all_rows_and_not_with_those_in_use(trips):
    options = (trips["rows"], "--roster", trips["zones"], *OPTIONS, "--at-most", 1)
    done = psgraph_here("compare", *options, trips["out"], "--json")
    assert done.code == 0, done.err
    found = json.loads(done.out)
    assert found["edges_used"] == pytest.approx(1 / TRIPS)
    # Releases stand for all rows. Against those in use the error would be about 3.
    assert found["mean"]["total_weight_error"] < 0.5


def test_another_bound_than_the_published_one_is_refused(trips):
    options = (trips["rows"], "--roster", trips["zones"], *OPTIONS, "--at-most", 2)
    done = psgraph_here("compare", *options, trips["out"])
    assert (done.code, done.out) == (1, "")
    assert "Traceback" not in done.err


def test_more_rows_than_pairs_are_planned_for_and_no_rehearsal_is_advised():
    done = psgraph_here(
        *("plan", "--nodes", 60, "--directed", "--flows", "--edges", 6000, "--owner", "rider"),
        *("--at-most", "1,5", "--edges-per-owner", 3, "--epsilon", 2, "--window", 4),
    )
    assert done.code == 0, done.err
    assert "33.3 %" in done.out
    assert "rehearse" not in done.out  # which is of undirected graphs and single edges


def test_errors_are_not_predicted_without_owners(trips):
    done = psgraph_here("expect", trips["out"])
    assert (done.code, done.out) == (1, "")
    assert "plan --owner" in done.err


def test_what_a_lifetime_has_lost_is_read_from_the_ledger(trips):
    done = psgraph_here("budget", trips["out"], "--lifetime", STEPS, "--json")
    assert done.code == 0, done.err
    lost = json.loads(done.out)["lifetimes"]
    assert lost, done.out
