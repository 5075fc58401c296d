"""The service does what its OpenAPI description says: generated requests, good and bad."""

from __future__ import annotations

from collections import Counter

import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from hypothesis.strategies import SearchStrategy
from schemathesis import Case, GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    ignored_auth,
    response_schema_conformance,
    status_code_conformance,
)

from tests.service.server import API, Server

SLOW = "report|export|comparison"
CHECKS = [
    schemathesis.checks.not_a_server_error,
    content_type_conformance,
    ignored_auth,
    response_schema_conformance,
    status_code_conformance,
]


QUICK = settings(
    max_examples=5,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def test_generated_requests_get_described_answers(server: Server, stream: str) -> None:
    """Good and bad requests to every operation, the same ones at every run."""
    headers = {"Authorization": f"Bearer {server.token}"}
    description = schemathesis.openapi.from_url(f"{server.address}{API}/openapi.json")
    chosen = [each.ok() for each in description.exclude(path_regex=SLOW).get_all_operations()]
    assert len(chosen) > 15
    problems: list[str] = []
    statuses: Counter[int] = Counter()

    def send_all(requests: SearchStrategy[Case], mode: GenerationMode) -> None:
        @QUICK
        @given(case=requests)
        def send(case: Case) -> None:
            if mode is GenerationMode.POSITIVE and "stream" in case.path_parameters:
                case.path_parameters["stream"] = stream
            answer = case.call_and_validate(headers=headers, checks=CHECKS, timeout=20)
            statuses[answer.status_code] += 1

        send()

    for operation in chosen:
        for mode in GenerationMode:
            try:
                send_all(operation.as_strategy(generation_mode=mode), mode)
            except Unsatisfiable:
                pass  # nothing can be wrong with a request without parameters
            except (Exception, BaseExceptionGroup) as error:
                problems.append(f"{operation.label}: {error}"[:1500])
    assert not problems, "\n\n".join(problems)
    assert {200, 201, 404, 422} <= set(statuses), statuses


def test_every_operation_describes_its_errors(server: Server) -> None:
    paths = server.call("GET", "/openapi.json").json["paths"]
    for path, operations in paths.items():
        for method, operation in operations.items():
            assert operation["summary"], (method, path)
            assert operation["description"], (method, path)
            if path.startswith(API):
                assert {"401", "403", "429"} <= set(operation["responses"]), (method, path)


def test_no_page_of_the_description_loads_scripts_of_others(server: Server) -> None:
    for path in ("/docs", "/redoc", "/openapi.json"):
        assert server.call("GET", path, api=False).status in (303, 401, 404)
