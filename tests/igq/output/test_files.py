"""Files that a user names are replaced as a whole, and nothing but files is replaced."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from igq.output.files import write_whole

pytestmark = pytest.mark.share


def test_a_new_file_has_the_mode_of_any_other(tmp_path: Path) -> None:
    (tmp_path / "other").touch()

    write_whole(tmp_path / "file", b"new")

    assert (tmp_path / "file").read_bytes() == b"new"
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_the_mode_of_a_file_stays(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch(0o600)

    write_whole(file, b"new")

    assert (file.read_bytes(), stat.S_IMODE(file.stat().st_mode)) == (b"new", 0o600)


def test_a_link_still_leads_to_its_file(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    target, link = tmp_path / "there" / "file", tmp_path / "link"
    target.write_bytes(b"old")
    link.symlink_to(target)

    write_whole(link, b"new")

    assert link.is_symlink()
    assert target.read_bytes() == b"new"


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()), daemon=True)
    reader.start()

    write_whole(pipe, b"new")

    assert pipe.is_fifo()
    reader.join()
    assert read == [b"new"]


def test_neighbours_with_like_names_stay(tmp_path: Path) -> None:
    (tmp_path / "file.new").write_bytes(b"mine")

    write_whole(tmp_path / "file", b"new")

    assert (tmp_path / "file.new").read_bytes() == b"mine"
    assert {each.name for each in tmp_path.iterdir()} == {"file", "file.new"}


def test_a_failure_leaves_the_old_content_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        write_whole(file, b"new")

    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("name", ["", "/"])
def test_a_folder_is_refused(name: str) -> None:
    with pytest.raises(IsADirectoryError):
        write_whole(Path(name), b"new")
