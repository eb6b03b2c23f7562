"""A class-data archive for Spark's Java: the classes of one run, kept in memory layout, halve the next start.

An archive is written when a run's Java ends, under a name of its own, and takes its final name only
when it is whole; the final name holds the file's size. So a missing, torn or half-written archive, or
two first runs at once, cost a slower start and nothing else.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path


class ClassArchive:
    """The archive for one Java and one Spark in *directory*: used when it is there, made when asked for.

    Attributes:
        java_options: what Java must be started with.
    """

    def __init__(self, directory: Path, java: Path, spark_home: Path, *, make: bool) -> None:
        # Java checks by itself that an archive fits; by the key, a new Java or Spark makes a new one.
        jars = spark_home / "jars"
        parts = [java.resolve(), java.resolve().stat().st_mtime_ns, jars, jars.stat().st_mtime_ns]
        self._stem = f"classes-{hashlib.sha256(repr(parts).encode()).hexdigest()[:12]}"
        self._directory = directory
        self._new: Path | None = None
        whole = self._find_whole()
        if whole is not None:
            self.java_options = [f'-XX:SharedArchiveFile="{whole}"']
            return
        self.java_options = []
        if not make:
            return
        self._new = directory / f"{self._stem}.{os.getpid()}.new"
        self.java_options = [f'-XX:ArchiveClassesAtExit="{self._new}"']

    def keep(self) -> None:
        """Java has ended well: give a new archive its final name."""
        if self._new is None or not self._new.is_file():
            return
        self._new.replace(self._directory / f"{self._stem}-{self._new.stat().st_size}.jsa")

    def discard(self) -> None:
        """Java has not ended well: what it wrote cannot be trusted."""
        if self._new is not None:
            self._new.unlink(missing_ok=True)

    def _find_whole(self) -> Path | None:
        for path in sorted(self._directory.glob(f"{self._stem}-*.jsa")):
            if path.name == f"{self._stem}-{path.stat().st_size}.jsa":
                return path
            path.unlink(missing_ok=True)
        return None
