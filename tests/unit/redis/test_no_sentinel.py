"""A Sentinel that cannot be asked: one short line, with its address."""

from __future__ import annotations

import pytest
from redis.exceptions import ConnectionError as NoConnection

from sharedq.redis.deployment import Deployment


def test_the_error_names_the_sentinels_and_the_service_only() -> None:
    with pytest.raises(NoConnection) as caught:
        Deployment("redis+sentinel://127.0.0.1:1/svc").locate("{QSG1:CSQ_ADMIN}:members")

    assert str(caught.value) == "no Sentinel of 127.0.0.1:1 knows a primary svc"
