"""Packs igq into an archive for `spark-submit --py-files`, which takes no wheel."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from igq.pipeline.errors import PipelineError

#: The packages that a driver and workers of Spark use, and the modules by which Spark finds the formats.
_PACKAGES: Final = ("igq", "sharedq")
_MODULES: Final = "pyspark_igq*.py"
#: Of each file, whatever the time: the same sources give the same archive.
_AT: Final = (1980, 1, 1, 0, 0, 0)


def build_archive(to: Path) -> Path:
    """Write ``igq.zip`` into the folder *to*. Returns its path.

    Raises:
        PipelineError: igq runs from such an archive itself.
        OSError: the archive cannot be written.
    """
    root = Path(__file__).parents[3]
    if not root.is_dir():
        raise PipelineError(f"igq runs from {root}: copy that file")
    to.mkdir(parents=True, exist_ok=True)
    archive = to / "igq.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for path in _files(root):
            about = zipfile.ZipInfo(path.relative_to(root).as_posix(), _AT)
            packed.writestr(about, path.read_bytes(), zipfile.ZIP_DEFLATED)
    return archive


def _files(root: Path) -> Iterator[Path]:
    for package in _PACKAGES:
        for path in sorted((root / package).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path
    yield from sorted(root.glob(_MODULES))
