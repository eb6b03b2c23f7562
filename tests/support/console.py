"""A console in a process of its own, and clients that have signed in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import httpx

if TYPE_CHECKING:
    from tests.cli.conftest import Running, Shell

#: User -> role; the password is `PASSWORD`.
USERS = {"vera": "viewer", "otto": "operator", "anna": "administrator"}
PASSWORD = "correct horse"
_URL = re.compile(r"(https?://\S+)/console/")


def add_users(shell: Shell) -> None:
    """Add the users."""
    for name, role in USERS.items():
        assert f"user {name} is added" in shell.out("console", "user", "add", name, "--role", role, text=PASSWORD)


@dataclass
class Console:
    """A running console.

    Attributes:
        url: without a path.
    """

    shell: Shell
    running: Running
    url: str

    @classmethod
    @contextmanager
    def start(cls, shell: Shell, *arguments: str) -> Iterator[Console]:
        """A console that is ready."""
        running = shell.start("console", "--listen", "0", *arguments)
        found = _URL.search(running.wait_for("IGQ0101I"))
        assert found
        yield cls(shell, running, found[1])
        running.end()

    @contextmanager
    def signed_in(self, user: str) -> Iterator[httpx.Client]:
        """A browser's client: with a session, and the header that its requests carry."""
        with httpx.Client(base_url=self.url, timeout=60) as client:
            answer = client.post("/console/api/sign-in", json={"user": user, "password": PASSWORD})
            assert answer.status_code == 200, answer.text
            client.headers["ibm-mq-rest-csrf-token"] = answer.json()["csrf"]
            yield client

    def program(self, user: str) -> httpx.Client:
        """A program's client: with a password in each request."""
        return httpx.Client(
            base_url=self.url, timeout=60, auth=(user, PASSWORD), headers={"ibm-mq-rest-csrf-token": ""}
        )

    def logged(self, text: str) -> str:
        """The line of the log with *text*, as soon as it is there."""
        return self.running.wait_for(text)
