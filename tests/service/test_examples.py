"""The example files start the service with options that it has."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from psgraph.cli.serve import command

EXAMPLES = Path(__file__).parents[2] / "examples" / "service"
OPTIONS = {option for parameter in command.params for option in parameter.opts}


def composed() -> dict[str, dict[str, object]]:
    services: dict[str, dict[str, object]] = yaml.safe_load(
        (EXAMPLES / "compose.yaml").read_text()
    )["services"]
    return services


def unit() -> dict[str, list[str]]:
    """The settings of the systemd unit; a setting can occur several times."""
    found: dict[str, list[str]] = {}
    text = (EXAMPLES / "psgraph.service").read_text().replace("\\\n", " ")
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            found.setdefault(name, []).append(value)
    return found


def test_the_options_exist() -> None:
    commands = [composed()["psgraph"]["command"], shlex.split(unit()["ExecStart"][0])[1:]]
    for words in commands:
        assert isinstance(words, list)
        assert words[0] == "serve"
        assert {word.partition("=")[0] for word in words if word.startswith("--")} <= OPTIONS


def test_only_the_proxy_can_be_reached_from_outside() -> None:
    services = composed()
    assert "ports" not in services["psgraph"]
    assert services["psgraph"]["networks"] == ["inside"]
    assert services["psgraph"]["read_only"] is True
    assert services["psgraph"]["cap_drop"] == services["proxy"]["cap_drop"] == ["ALL"]


def test_the_image_of_the_example_has_the_service() -> None:
    dockerfile = (EXAMPLES.parents[1] / "Dockerfile").read_text()
    assert "service" in dockerfile.partition("'.[")[2].partition("]'")[0].split(",")


def test_the_unit_listens_on_loopback_and_owns_only_its_data() -> None:
    settings = unit()
    assert "--host" not in settings["ExecStart"][0]
    assert settings["IPAddressDeny"] == ["any"]
    assert settings["DynamicUser"] == ["yes"]
    assert settings["StateDirectoryMode"] == ["0700"]
    assert settings["ProtectSystem"] == ["strict"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="apt install systemd")
def test_systemd_reads_the_unit(tmp_path: Path) -> None:
    text = (EXAMPLES / "psgraph.service").read_text()
    program = unit()["ExecStart"][0].split()[0]
    copy = tmp_path / "psgraph.service"
    copy.write_text(text.replace(program, "/bin/true"))
    done = subprocess.run(
        ["systemd-analyze", "verify", str(copy)], capture_output=True, text=True, timeout=30
    )
    assert (done.returncode, done.stderr) == (0, "")
