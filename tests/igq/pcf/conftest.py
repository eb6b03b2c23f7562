"""The command server's processor, at QM1 of a group: requests in, responses out."""

from __future__ import annotations

import pytest

from tests.support.members import TestGroup
from tests.support.pcf import Asked


@pytest.fixture
def asked(group: TestGroup) -> Asked:
    return Asked(group)
