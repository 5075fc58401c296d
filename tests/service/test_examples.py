"""The example files start the service with options that it has."""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from psgraph.cli.serve import command
from tests.service.scenario import CSV, as_csv, edges, roster
from tests.service.server import Server
from tests.service.test_client_http import certificate

EXAMPLES = Path(__file__).parents[2] / "examples" / "service"
SITE = "psgraph.example.org"
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
    assert "--host" not in shlex.split(settings["ExecStart"][0])
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


# ---- behind a real proxy ----


def started_by_the_unit(directory: Path) -> Server:
    """The service with the options of the unit's command line, on a free port."""
    _, _, home, *options = shlex.split(unit()["ExecStart"][0])
    options[options.index("--port") + 1] = "0"
    options = [word.replace(home, str(directory)) for word in options]
    return Server(directory, *options)


def program(name: str) -> str | None:
    return shutil.which(name, path=os.pathsep.join([os.environ["PATH"], "/usr/sbin"]))


@contextmanager
def nginx(directory: Path, upstream: int, port: int) -> Iterator[None]:
    cert, key = certificate(directory)
    site = (EXAMPLES / "nginx.conf").read_text()
    for example, here in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("/etc/ssl/certs/psgraph.pem", str(cert)),
        ("/etc/ssl/private/psgraph.key", str(key)),
        ("127.0.0.1:8765", f"127.0.0.1:{upstream}"),
        ("client_header_timeout 10s", "client_header_timeout 1s"),
    ):
        assert example in site
        site = site.replace(example, here)
    paths = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = "".join(f"{each}_temp_path {directory}/{each};\n" for each in paths)
    file = directory / "nginx.conf"
    user = "user root;" if os.geteuid() == 0 else ""
    file.write_text(
        f"{user} daemon off; pid {directory}/pid; error_log {directory}/error.log;\nevents {{}}\n"
        f"http {{ access_log off;\n{temporary}{site}}}\n"
    )
    name = program("nginx")
    assert name is not None
    command = [name, "-e", str(directory / "error.log"), "-p", str(directory), "-c", str(file)]
    with running_proxy(command, port):
        yield


@contextmanager
def caddy(directory: Path, upstream: int, port: int) -> Iterator[None]:
    cert, key = certificate(directory)
    text = (EXAMPLES / "Caddyfile").read_text()
    for example, here in (
        (f"\n{SITE} {{", f"\nhttps://{SITE}:{port} {{\n\ttls {cert} {key}\n\tbind 127.0.0.1"),
        ("127.0.0.1:8765", f"127.0.0.1:{upstream}"),
        ("read_header 10s", "read_header 1s"),
        ("{\n\tservers", "{\n\tadmin off\n\tauto_https off\n\tservers"),
    ):
        assert example in text
        text = text.replace(example, here)
    file = directory / "Caddyfile"
    file.write_text(text)
    name = program("caddy")
    assert name is not None
    with running_proxy([name, "run", "--config", str(file), "--adapter", "caddyfile"], port):
        yield


@contextmanager
def running_proxy(command: list[str], port: int) -> Iterator[None]:
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                assert process.poll() is None, "the proxy ended early"
                assert time.monotonic() < deadline
                time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait(20)


@pytest.mark.parametrize(
    "proxy",
    [
        pytest.param(
            each,
            marks=pytest.mark.skipif(
                program(each.__name__) is None, reason=f"apt install {each.__name__}"
            ),
        )
        for each in (nginx, caddy)
    ],
)
def test_the_units_command_line_works_behind_a_proxy(
    proxy: Callable[..., contextmanager], tmp_path: Path
) -> None:
    server = started_by_the_unit(tmp_path / "data")
    server.token = "in the file"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with server, proxy(tmp_path, server.port, port):
        token = (tmp_path / "data" / "curator-token").read_text().strip()
        client = httpx.Client(
            base_url=f"https://127.0.0.1:{port}",
            headers={"Host": SITE, "Authorization": f"Bearer {token}"},
            verify=False,
        )

        def call(method: str, path: str, **options: Any) -> httpx.Response:
            return client.request(method, path, extensions={"sni_hostname": SITE}, **options)

        assert call("GET", "/readyz").status_code == 200
        assert "__Host-psgraph" in call(
            "POST", "/sign-in", data={"token": token}, headers={"Origin": f"https://{SITE}"}
        ).headers.get("set-cookie", "")
        terms = {"name": "calls", "epsilon": "1", "window": 3, "method": "psgraph"}
        assert call("POST", "/api/v1/streams", json=terms).status_code == 201
        address = "/api/v1/streams/calls"
        put = call("PUT", f"{address}/roster", content=roster(), headers=CSV)
        assert put.status_code == 200
        body = as_csv(edges(0))
        assert call("POST", f"{address}/snapshots/0", content=body, headers=CSV).status_code == 202

        silent = socket.create_connection(("127.0.0.1", port), timeout=15)
        wrong = [
            call(
                "GET",
                "/api/v1/streams",
                headers={"Authorization": "Bearer no", "X-Forwarded-For": f"192.0.2.{number}"},
            ).status_code
            for number in range(35)
        ]
        assert wrong[-1] == 429, "a client chooses the address it is counted by"
        assert silent.recv(1) == b"", "a silent connection stays open"
        silent.close()
