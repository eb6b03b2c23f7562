"""Groups of earlier versions, stored as they left Redis: this version takes them over, and upgrades them.

An image is the append-only file of the embedded server, after QM1 and QM2 were stopped in good order. It has 60
messages on SHARED.Q, 40 on PRIVATE.Q of QM1, 20 on FAR.Q of QM2, and 10 that wait on the transmit queue for QM2. Its
name begins with the format of its key space; 0 stands for the time before the format was recorded.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

import pytest

from sharedq.members.formats import FORMAT, OLDEST
from tests.cli.conftest import Shell

IMAGES = sorted((Path(__file__).parent / "images").glob("*.tar.gz"))


def format_of(image: Path) -> int:
    return int(image.name.partition("-")[0])


def test_every_format_that_this_version_works_with_has_an_image() -> None:
    assert {format_of(image) for image in IMAGES} >= {0, *range(OLDEST, FORMAT + 1)}


def bodies(shell: Shell, qmgr: str, queue: str) -> list[str]:
    return shell.out("get", qmgr, queue, "--wait", "10").splitlines()


@pytest.mark.parametrize("image", IMAGES, ids=lambda image: image.name.removesuffix(".tar.gz"))
def test_a_group_of_an_earlier_version_goes_on_with_all_messages(image: Path, shell: Shell) -> None:
    folder = Path(shell.environment["IGQ_DATA_DIR"], "redis")
    folder.mkdir(mode=0o700)
    with tarfile.open(image) as stored:
        stored.extractall(folder, filter="data")

    managers = shell.start("group", "start", "-m", "QM1", "-m", "QM2")
    managers.wait_for("CSQ9022I", 2)
    before = shell.status()
    done = shell.out("upgrade").splitlines()

    assert before["format"] == max(format_of(image), OLDEST)
    assert bool(format_of(image) < FORMAT) == (done != ["nothing to do"])
    assert shell.status()["format"] == FORMAT
    assert shell.out("upgrade") == "nothing to do\n"
    exported = shell.out("export")
    for definition in ("QALIAS('OTHER.NAME')", "of an earlier version", "QREMOTE('AT.QM2')"):
        assert definition in exported
    assert bodies(shell, "QM2", "SHARED.Q") == [f"shared-{number}" for number in range(1, 61)]
    assert bodies(shell, "QM1", "PRIVATE.Q") == [f"private-{number}" for number in range(1, 41)]
    waiting = [*(f"far-{number}" for number in range(1, 21)), *(f"waiting-{number}" for number in range(1, 11))]
    assert bodies(shell, "QM2", "FAR.Q") == waiting
    assert shell.out("fsck") == "Everything is accounted for.\n"
    assert managers.end() == 0
