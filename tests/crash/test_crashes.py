"""A guarantee that survives crashes: see `campaigns` for what each of them does.

They fork, which a process with threads must not, so each runs in a process of its own.
"""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

CAMPAIGNS = Path(__file__).with_name("campaigns.py")


def run(campaign: str, **options: Any) -> Any:
    """What a campaign reports; what its children complained about if it fails."""
    done = subprocess.run(
        [sys.executable, str(CAMPAIGNS), campaign, json.dumps(options)],
        capture_output=True,
        text=True,
        timeout=1_500,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_killed_at_every_place_that_touches_the_disk() -> None:
    report = run("kill-points")
    assert report["violations"] == []
    assert report["killed"] == report["points"] > 100
    for kind in ("write", "fsync", "replace", "link", "commit"):
        assert report["kinds"][f"before {kind}"] >= 1
        assert report["kinds"][f"after {kind}"] >= 1


def test_killed_between_the_parts_of_a_graph() -> None:
    report = run("kill-points", timestamps=1, parts=True)
    assert report["violations"] == []
    assert report["killed"] == report["points"]
    assert report["kinds"]["before write"] >= 5  # three parts, the node list, the certificate


def test_killed_at_every_system_call_that_changes_a_file() -> None:
    report = run("kill-system-calls")
    if report.get("unavailable"):
        pytest.skip("processes can't be followed here (ptrace)")
    assert report["violations"] == []
    assert report["killed"] == report["points"] == report["calls"] > 60


def test_killed_at_random_200_times() -> None:
    report = run("random-kills", kills=200)
    assert report["violations"] == []
    assert report["kills"] == 200


def test_killed_before_every_seal_until_a_person_allows_more() -> None:
    report = run("killed-before-sealing")
    assert report["violations"] == []
    killed, refused, stopped = -9, 7, 8
    assert report["codes"] == [
        *([killed] * 3 + [stopped] * 3),
        *[killed, refused],  # the word counts once
        *([killed] * 2 + [stopped]),
        0,
    ]
    assert report["draws"] == [3, 6]


@pytest.mark.parametrize(
    ("mutant", "symptom"),
    [
        ("write in place", "half written"),
        ("show before sealing", "was visible before its seal"),
        ("draw again", "the sealed row 0 changed"),
        ("parts in place", "000000 is half written"),
    ],
)
def test_a_faulty_publisher_is_found_out(mutant: str, symptom: str) -> None:
    report = run("kill-points", timestamps=1, mutant=mutant, parts=mutant.startswith("parts"))
    assert any(symptom in violation for violation in report["violations"])


def test_sixteen_processes_on_one_ledger() -> None:
    report = run("race", processes=16, timestamps=4)
    assert report["violations"] == []
    assert report["failed"] == 0
    assert report["sealings_per_timestamp"] == [1, 1, 1, 1]
    assert report["different_releases"] == 1


def test_sixteen_processes_where_files_can_not_be_locked() -> None:
    report = run("race", processes=16, timestamps=3, locks=False)
    assert report["violations"] == []
    assert report["sealings_per_timestamp"] == [1, 1, 1]
    assert report["different_releases"] == 1


def test_verifying_while_another_process_publishes() -> None:
    report = run("verify-meanwhile")
    assert report["complaints"] == []
    assert report["verified"] > 5


def test_no_space_at_every_place_that_touches_the_disk() -> None:
    report = run("full-disk-at-every-point")
    assert report["violations"] == []
    assert report["outcomes"].keys() <= {"done", "LedgerError", "OutOfOrder"}


def test_files_that_may_not_grow() -> None:
    report = run("small-files")
    assert report["violations"] == []
    assert report["untyped"] == 0
    assert report["refused"] > 3
    assert report["done"] > 0


def test_a_disk_that_is_full() -> None:
    report = run("small-disk")
    if report.get("unavailable"):
        pytest.skip("a small file system can't be mounted here")
    assert report["violations"] == []
    assert report["refusals"] == 3


def test_a_disk_that_is_full_while_a_timestamp_is_sealed() -> None:
    report = run("full-while-sealing")
    if report.get("unavailable"):
        pytest.skip("a small file system can't be mounted here")
    assert report["violations"] == []
    assert report["refused"] == ["sqlite_full"] * 5
    assert report["unsealed"]
    assert report["draws"] == 1
    assert report["first"]


def test_a_directory_that_is_read_only() -> None:
    refused = 7
    assert run("read-only") == {
        "publishing": refused,
        "beginning": refused,
        "reading": 0,
        "untouched": True,
    }


def test_the_page_of_the_campaign_shows_what_did_not_hold_and_keeps_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = spec_from_file_location("crash", CAMPAIGNS.parents[2] / "benchmarks" / "crash.py")
    assert found is not None
    assert found.loader is not None
    crash = module_from_spec(found)
    monkeypatch.setitem(sys.modules, "crash", crash)
    found.loader.exec_module(crash)

    def tampering(share: float) -> list[Any]:
        return [crash.Outcome("a | b", "3 bytes", "0 not noticed", held=share == 1)]

    def races(_: float) -> list[Any]:
        raise OSError("out of processes")

    monkeypatch.setattr(crash, "ATTACKS", {"tampering": tampering, "races": races})
    campaign = crash.Campaign(1.0, ["tampering", "races"])
    campaign.run("tampering")
    assert campaign.held
    campaign.run("races")
    assert not campaign.held
    campaign.write(tmp_path)
    page = (tmp_path / "README.md").read_text()
    assert "1 of 2 claims held. `make crash`" in page
    assert "| a \\| b | 3 bytes | 0 not noticed | yes |" in page
    assert "| races | not finished | stopped: OSError: out of processes | **NO** |" in page
    figures = json.loads((tmp_path / "crash.json").read_text())
    assert (figures["held"], set(figures["seconds"])) == (False, {"tampering", "races"})
