"""The class-data archive is used only when it is whole."""

from __future__ import annotations

from pathlib import Path

import pytest

from igq.pipeline.spark.class_archive import ClassArchive


@pytest.fixture
def java(tmp_path: Path) -> Path:
    path = tmp_path / "java"
    path.touch()
    (tmp_path / "spark" / "jars").mkdir(parents=True)
    return path


def option_path(archive: ClassArchive, option: str) -> Path:
    (text,) = archive.java_options
    assert text.startswith(f"-XX:{option}=")
    return Path(text.partition("=")[2].strip('"'))


def make(directory: Path, java: Path, content: bytes) -> Path:
    """Make an archive as Java does, and return the file that is kept."""
    archive = ClassArchive(directory, java, directory / "spark", make=True)
    option_path(archive, "ArchiveClassesAtExit").write_bytes(content)
    archive.keep()
    return option_path(ClassArchive(directory, java, directory / "spark", make=False), "SharedArchiveFile")


def test_an_archive_is_made_once_and_used_from_then_on(tmp_path: Path, java: Path) -> None:
    assert ClassArchive(tmp_path, java, tmp_path / "spark", make=False).java_options == []

    kept = make(tmp_path, java, b"classes")

    assert kept.read_bytes() == b"classes"
    assert option_path(ClassArchive(tmp_path, java, tmp_path / "spark", make=True), "SharedArchiveFile") == kept


def test_a_torn_archive_is_removed_and_made_again(tmp_path: Path, java: Path) -> None:
    kept = make(tmp_path, java, b"classes")
    kept.write_bytes(b"cla")

    assert ClassArchive(tmp_path, java, tmp_path / "spark", make=False).java_options == []
    assert not kept.exists()
    assert make(tmp_path, java, b"classes").read_bytes() == b"classes"


def test_the_archive_of_a_failed_java_is_removed(tmp_path: Path, java: Path) -> None:
    archive = ClassArchive(tmp_path, java, tmp_path / "spark", make=True)
    unfinished = option_path(archive, "ArchiveClassesAtExit")
    unfinished.write_bytes(b"half")

    archive.discard()

    assert not unfinished.exists()


def test_a_java_that_wrote_nothing_leaves_nothing(tmp_path: Path, java: Path) -> None:
    archive = ClassArchive(tmp_path, java, tmp_path / "spark", make=True)

    archive.keep()

    assert sorted(tmp_path.iterdir()) == [java, tmp_path / "spark"]
