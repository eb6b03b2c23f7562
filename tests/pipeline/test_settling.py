"""What is done once in a worker, and what decides how Java compiles."""

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.settling import settle
from sharedq.deployment import Deployment


@pytest.fixture
def unsettled() -> Iterator[None]:
    settle.cache_clear()
    yield
    gc.unfreeze()
    settle.cache_clear()


@pytest.mark.usefixtures("unsettled")
def test_what_is_imported_is_no_garbage_and_what_comes_later_may_be() -> None:
    settle()
    frozen = gc.get_freeze_count()
    assert frozen > 0
    garbage: list[object] = []
    garbage.append(garbage)
    del garbage
    # Freezing again would keep each task's garbage for ever.
    settle()
    assert gc.get_freeze_count() <= frozen
    assert gc.collect() >= 1


def test_a_servers_memory_is_told_and_nobodys_is_unknown(redis_url: str, tmp_path: Path) -> None:
    assert (Deployment(redis_url).used_memory("any") or 0) > 0
    assert Deployment(f"unix://{tmp_path}/nobody").used_memory("any") is None
