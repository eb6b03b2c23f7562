"""Errors that an outage explains."""

from __future__ import annotations

import pytest

from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError, error_for
from sharedq.redis.outage import is_away


@pytest.mark.parametrize(("reason", "expected"), [(MQRC.Q_FULL, False), (MQRC.CONNECTION_BROKEN, True)])
def test_errors_that_cause_each_other_are_looked_at_once(reason: MQRC, expected: bool) -> None:
    first, second = error_for(MQRC.BACKED_OUT, "", "Q"), error_for(reason, "", "Q")
    first.__cause__, second.__cause__ = second, first
    assert isinstance(first, MQIError)
    assert is_away(first) is expected
