"""The groups of tests copy what their first member defines. They have what the product defines."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import members
from tests.support.copied_keys import read_keys
from tests.support.members import TestGroup
from tests.support.server import Server


def test_a_group_that_copies_has_what_a_group_that_defines_has(
    redis_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(members, "_first_objects", {})
    groups = [TestGroup(redis_server.url, tmp_path) for _ in range(2)]
    try:
        for group in groups:
            group.add_member("QM1")
        defined, copied = (read_keys(group.group.client(), group.group.name) for group in groups)
        assert len(members._first_objects) == 1
        assert b'"qsg_name":"\0"' in copied[b"CSQ_ADMIN}:qmgr"][b"QM1"]
        assert copied == defined
        # Also keys of other types.
        named = ([*group.group.client().scan_iter(match=f"{{{group.group.name}:*")] for group in groups)
        first, second = ({key.partition(b":")[2] for key in keys} for keys in named)
        assert first == second
    finally:
        for group in groups:
            group.close()
