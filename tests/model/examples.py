"""The number of random programs that a model is compared with, and their length."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.support.server import Server

_ASKED = os.environ.get("MODEL_EXAMPLES")
#: Any requested number of examples may take its time.
in_time = pytest.mark.timeout(300 if _ASKED is None else 0)


def hold_against(machine: Any, server: Server, where: Path, *, steps: int) -> None:
    """Run random programs of *steps* calls at most on a server, and on the model.

    There are MODEL_EXAMPLES of them; by default 30, and in `make test` as many as any test has examples.
    """
    machine.url, machine.where = server.url, where
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=int(_ASKED or min(30, settings().max_examples)),
            stateful_step_count=steps,
            suppress_health_check=list(HealthCheck),
        ),
    )
