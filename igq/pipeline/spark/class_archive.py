"""A class-data archive for Spark's Java: the classes of one run in memory layout. It halves the time of the next start.

Java writes an archive under a temporary name when it ends. The archive gets its final name, which holds the file's
size, after it is complete. So a missing or half-written archive, or two first runs at once, only make a start slower.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path


class ClassArchive:
    """The archive for one Java and one Spark in *directory*: used if it exists, made on request.

    Attributes:
        java_options: the options for Java.
    """

    def __init__(self, directory: Path, java: Path, spark_home: Path, *, make: bool) -> None:
        # Java checks that an archive fits. The key makes a new archive for a new Java or Spark.
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
        """Give a new archive its final name, after Java has ended well."""
        if self._new is None or not self._new.is_file():
            return
        self._new.replace(self._directory / f"{self._stem}-{self._new.stat().st_size}.jsa")

    def discard(self) -> None:
        """Remove a new archive, after Java has failed: it may be incomplete."""
        if self._new is not None:
            self._new.unlink(missing_ok=True)

    def _find_whole(self) -> Path | None:
        for path in sorted(self._directory.glob(f"{self._stem}-*.jsa")):
            if path.name == f"{self._stem}-{path.stat().st_size}.jsa":
                return path
            path.unlink(missing_ok=True)
        return None
