"""Outcomes of MQI calls."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sharedq.mqi.constants import MQRC
from sharedq.mqi.errors import MQIError


def reason_of(call: Callable[[], object]) -> MQRC:
    """The reason why a call fails, which it must."""
    with pytest.raises(MQIError) as caught:
        call()
    return caught.value.reason
