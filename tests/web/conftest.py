"""A real group of two managers, and a real console beside it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import httpx
import pytest

from tests.cli.conftest import new_shell, shell
from tests.conftest import is_share
from tests.support.console import USERS, Console, add_users


def _scope(fixture_name: str, config: pytest.Config) -> Literal["session", "module"]:  # noqa: ARG001 - it is given
    """The few tests of the share have one console: its start and that of its managers take nine processor seconds."""
    return "session" if is_share(config) else "module"


@pytest.fixture(scope=_scope)
def console() -> Iterator[Console]:
    """A console on a port of its own, with a user for each role, beside the managers QM1 and QM2."""
    with tempfile.TemporaryDirectory(prefix="igq", ignore_cleanup_errors=True) as path:
        own = new_shell(Path(path))
        # These tests are not about leases: a machine that is busy must not cost a manager its place.
        own.environment["IGQ_LEASE_MS"] = "60000"
        try:
            managers = own.start("group", "start", "-m", "QM1", "-m", "QM2")
            managers.wait_for("CSQ9022I", 2)
            add_users(own)
            with Console.start(own) as console:
                yield console
            # In good order, so that the embedded server does not write when its folder is removed.
            managers.end()
        finally:
            own.close()


@pytest.fixture
def anonymous(console: Console) -> Iterator[httpx.Client]:
    """A client that has not signed in."""
    with httpx.Client(base_url=console.url, timeout=60) as client:
        yield client


@pytest.fixture(params=sorted(USERS))
def role(request: pytest.FixtureRequest) -> str:
    """Each role."""
    return str(request.param)


__all__ = ["shell"]
