"""A secret in a command is hidden where the command is kept."""

from __future__ import annotations

import pytest

from igq.mqsc.language.writing import command, parameter
from sharedq.display.text import mask_secrets


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("ALTER QMGR SSLKEYRPWD('a''b)c') DESCR(x)", "ALTER QMGR SSLKEYRPWD(***) DESCR(x)"),
        ("define channel(a) password ( b ) descr(c)", "define channel(a) password(***) descr(c)"),
        ("ALTER AUTHINFO(A) LDAPPWD('b", "ALTER AUTHINFO(A) LDAPPWD(***"),
        ("ALTER CFSTRUCT(A) URL('redis://u:b@h')", "ALTER CFSTRUCT(A) URL('redis://u:***@h')"),
        ("DEFINE QLOCAL(PASSWORDS)", "DEFINE QLOCAL(PASSWORDS)"),
    ],
)
def test_values_that_may_be_secrets_are_hidden(text: str, masked: str) -> None:
    assert mask_secrets(text) == masked


def test_a_parsed_command_is_shown_without_its_secrets() -> None:
    asked = command("DEFINE", "CHANNEL", "A", [parameter("PASSWORD", "b)c'd"), parameter("DESCR", "e")])
    assert asked.shown == "DEFINE CHANNEL(A) PASSWORD(***) DESCR(e)"
