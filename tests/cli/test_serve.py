"""``psgraph serve``: its start, its first token, its refusals and its stop."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.request

import pytest

from psgraph._runtime import extras
from psgraph.cli import run
from psgraph.errors import install_line


def test_without_the_extra_the_install_line_is_printed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "fastapi" else name)
    assert run(["serve", str(tmp_path / "service")]) == 1
    assert install_line("service") in capsys.readouterr().err
    assert not (tmp_path / "service").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--host", "0.0.0.0"], "not a loopback address"),
        (["--tls-cert", __file__], "Give both --tls-cert and --tls-key"),
        (["--tls-cert", __file__, "--tls-key", __file__, "--port", "0"], "can't be used"),
        (["--adopt", "calls", "--port", "0"], "NAME=DIR"),
        (["--port", "70000"], "70000 is not in the range"),
        (["--host", "192.0.2.1", "--behind-proxy"], "192.0.2.1, port 8765"),
    ],
)
def test_a_start_that_can_not_work_is_refused(tmp_path, capsys, options, message):
    assert run(["serve", str(tmp_path / "service"), *options]) in (1, 2)
    assert message in capsys.readouterr().err


def test_it_makes_one_token_for_its_owner_and_stops_gracefully(tmp_path):
    token = ""
    command = [sys.executable, "-m", "psgraph", "serve", str(tmp_path / "service"), "--port", "0"]
    command += ["--token-file", str(tmp_path / "token"), "--json"]
    for _ in range(2):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ})
        assert process.stdout is not None
        told = json.loads(process.stdout.readline())
        assert told["curator_token"] is None
        with urllib.request.urlopen(f"{told['url']}/healthz") as answer:
            assert json.load(answer)["status"] == "ok"
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        process.stdout.close()
        token = token or (tmp_path / "token").read_text()
    assert token.startswith("psg_")
    assert (tmp_path / "token").read_text() == token
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600


def test_importing_psgraph_imports_nothing_of_the_service():
    code = (
        "import sys, psgraph, psgraph.cli\n"
        "assert not {'fastapi', 'uvicorn', 'argon2', 'psgraph.service'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
