"""The interface: problems, exact numbers, pages, waiting, downloads."""

from __future__ import annotations

import io
import re
import threading

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.service.offline import Offline, edges


@pytest.fixture
def offline(tmp_path, monkeypatch):
    service = Offline(tmp_path / "service", monkeypatch)
    yield service
    service.close()


@pytest.fixture
def released(offline):
    offline.create()
    for timestamp in range(3):
        offline.post(timestamp, edges(timestamp + 1))
    offline.publish()
    return offline


@pytest.mark.parametrize(
    ("sent", "taken"),
    [("1", "1"), ("1/3", "1/3"), ("2", "2"), ('"1"', "1"), ("0.5", "0.5"), ("0.1", "0.1")],
)
def test_epsilon_is_taken_exactly_as_text_or_as_a_number(offline, sent, taken):
    text = f'"{sent}"' if "/" in sent else sent
    body = f'{{"name": "calls", "epsilon": {text}, "window": 3, "method": "psgraph"}}'
    json = {"Content-Type": "application/json"}
    created = offline.call("POST", "/streams", content=body, headers=json)
    assert created.json()["epsilon"] == taken


@pytest.mark.parametrize("sent", ["0.1234567890123456789", "true", "1e400", "[1]", "null"])
def test_an_epsilon_that_may_have_been_rounded_is_refused(offline, sent):
    body = f'{{"name": "calls", "epsilon": {sent}, "window": 3}}'
    json = {"Content-Type": "application/json"}
    answer = offline.call("POST", "/streams", content=body, headers=json)
    assert answer.status_code == 422
    assert "epsilon" in answer.json()["message"]
    assert "text" in answer.json()["remedy"]


def test_an_error_is_a_problem(offline):
    answer = offline.call("GET", "/streams/none")
    assert answer.headers["content-type"] == "application/problem+json"
    assert (answer.json()["status"], answer.json()["title"]) == (404, "Not Found")


def test_lists_lead_to_their_next_page(released):
    released.create("other")
    first = released.call("GET", "/streams?limit=1")
    assert [each["name"] for each in first.json()] == ["calls"]
    following = first.links["next"]["url"]
    assert [each["name"] for each in released.call("GET", following).json()] == ["other"]
    page = released.call("GET", "/streams/calls/releases?limit=2")
    page = released.call("GET", page.links["next"]["url"])
    assert [each["timestamp"] for each in page.json()] == [2]
    assert "next" not in page.links
    page = released.call("GET", "/audit-log?limit=2")
    older = released.call("GET", page.links["next"]["url"]).json()["entries"]
    assert older[0]["number"] == page.json()["entries"][-1]["number"] - 1


def test_a_request_waits_for_the_next_release(released):
    assert released.call("GET", "/streams/calls/releases?since=3&wait=0.2").json() == []
    released.post(3, edges(5))
    threading.Timer(0.5, released.publish).start()
    found = released.call("GET", "/streams/calls/releases?since=3&wait=15").json()
    assert [each["timestamp"] for each in found] == [3]


def test_downloads_in_ranges_compressed_and_as_arrow(released):
    path = "/streams/calls/releases/0/edges"
    whole = released.call("GET", path)
    part = released.call("GET", path, headers={"Range": "bytes=4-11"})
    assert (part.status_code, part.content) == (206, whole.content[4:12])
    tags = f'"other", W/{whole.headers["etag"]}'
    assert released.call("GET", path, headers={"If-None-Match": tags}).status_code == 304
    head = released.call("HEAD", path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["etag"] == whole.headers["etag"]
    plain = released.call("GET", f"{path}?format=csv", headers={"Accept-Encoding": "identity"})
    packed = released.call("GET", f"{path}?format=csv", headers={"Accept-Encoding": "gzip"})
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.content == plain.content  # httpx has unpacked it
    assert packed.headers["etag"] != plain.headers["etag"]
    arrow = released.call("GET", f"{path}?format=arrow").content
    read = pa.ipc.open_stream(arrow).read_all()
    assert read.equals(pq.read_table(io.BytesIO(whole.content)).replace_schema_metadata(None))


def test_the_description_is_a_page_that_loads_nothing_from_elsewhere(offline):
    page = offline.client.get("/api").text
    description = offline.call("GET", "/openapi.json", token=None).json()
    for path, operations in description["paths"].items():
        for method, operation in operations.items():
            shown = page.partition(f'id="{operation["operationId"]}"')[2].partition("</details>")[0]
            assert f"<code>{method.upper()} {path}</code>" in shown
            for parameter in operation.get("parameters", ()):
                assert f"<code>{parameter['name']}</code>" in shown
    linked = set(re.findall(r'href="#(model-\w+)"', page))
    assert linked <= set(re.findall(r'id="(model-\w+)"', page))
    assert "http" not in re.sub(r"HTTP|http_", "", page).partition("<main")[2]


def test_files_are_described_with_their_media_types(offline):
    paths = offline.call("GET", "/openapi.json", token=None).json()["paths"]
    for operations in paths.values():
        for operation in operations.values():
            done = [each for code, each in operation["responses"].items() if code < "300"]
            assert all(each["content"] for each in done), operation["operationId"]


def test_operations_have_stable_names_and_say_how_callers_identify_themselves(offline):
    described = offline.call("GET", "/openapi.json").json()
    operation = described["paths"]["/api/v1/streams/{stream}/releases"]["get"]
    assert operation["operationId"] == "list_releases"
    assert {} in operation["security"]
    assert described["paths"]["/api/v1/tokens"]["get"]["security"] == [{"token": []}]
    assert "application/problem+json" in operation["responses"]["404"]["content"]
    names = [
        each["operationId"] for paths in described["paths"].values() for each in paths.values()
    ]
    assert len(names) == len(set(names))
