"""The description of the REST interface, held against the interface by generated requests."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.checks import load_all_checks
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from igq.web.rest.openapi import description
from tests.support.console import PASSWORD, Console
from tests.support.examples import examples

load_all_checks()
CHECKS = [status_code_conformance, content_type_conformance, response_schema_conformance]
#: A description that is not valid makes a result without an operation.
FOUND: Any = schemathesis.openapi.from_dict(description()).get_all_operations()
OPERATIONS = {each.definition.raw["operationId"]: each for each in (result.ok() for result in FOUND)}
#: Requests of each kind.
EXAMPLES = 25


def test_the_console_tells_the_description(console: Console) -> None:
    told = httpx.get(f"{console.url}/ibmmq/rest/v3/openapi.json").json()

    assert told == description()
    assert set(OPERATIONS) == {
        *("putMessage", "browseMessage", "getMessage", "listMessages", "runCommand"),
        *("logIn", "loggedIn", "logOut"),
    }


@pytest.fixture(scope="module")
def fuzzed(console: Console) -> str:
    """A queue with messages."""
    console.shell.out("mqsc", "QM1", "-c", "DEFINE QLOCAL(FUZZED) MAXDEPTH(100000)")
    console.shell.out("put", "QM1", "FUZZED", *map(str, range(50)))
    for user in ("vera", "otto"):
        # Wrong passwords that are generated make a host wait; a right one that was seen is still taken then.
        with console.program(user) as client:
            assert client.get("/ibmmq/rest/v3/login").status_code == 200
    return "FUZZED"


@pytest.mark.slow
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_generated_requests_get_an_answer_as_described(
    console: Console, fuzzed: str, name: str, mode: GenerationMode
) -> None:
    # A viewer gives the commands, so that none of them stops a manager.
    user = "vera" if name == "runCommand" else "otto"

    @given(st.data())
    @settings(max_examples=examples(EXAMPLES), suppress_health_check=list(HealthCheck), database=None)
    def run(data: st.DataObject) -> None:
        case: Any = data.draw(OPERATIONS[name].as_strategy(generation_mode=mode))
        if mode is GenerationMode.POSITIVE and case.path_parameters and data.draw(st.booleans()):
            case.path_parameters = {"qmgrName": "QM1", "queueName": fuzzed}
        auth = None if name == "logIn" else (user, PASSWORD)
        response = case.call(base_url=console.url, auth=auth)
        assert response.status_code != 500, response.content
        case.validate_response(response, checks=CHECKS)

    run()
