"""An export that reads while Redis loses the group writes nothing: half of the definitions look like all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from igq.cli import main
from igq.definitions import catalog
from igq.definitions.catalog import Catalog
from sharedq.members.group import Group
from tests.support.backups import lose_all
from tests.support.members import TestGroup


def test_nothing_is_written(
    group: TestGroup, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    group.group.client().hset(group.group.keys.group, "born", "1")
    group.define_shared("Q")
    file = tmp_path / "definitions.mqsc"
    environment = {"IGQ_GROUP": group.group.name, "IGQ_REDIS_URL": group.settings.redis_url}
    for name, value in (environment | {"IGQ_DATA_DIR": str(tmp_path)}).items():
        monkeypatch.setenv(name, str(value))
    assert main(["export", "-f", str(file)]) == 0
    before, read = file.read_bytes(), catalog.read_catalog

    def read_and_lose(of: Group) -> Catalog:
        found = read(of)
        lose_all(group)
        return found

    monkeypatch.setattr(catalog, "read_catalog", read_and_lose)

    assert main(["export", "-f", str(file)]) == 1

    assert capsys.readouterr().err == f"igq: Redis has lost group {group.group.name} meanwhile: nothing was written\n"
    assert file.read_bytes() == before
