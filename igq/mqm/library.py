"""Compiles the C library into a folder with ``inc/`` (its headers) and ``lib64/``, as a client of IBM's has."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from igq.errors import CommandError
from igq.mqm.headers import CALLS, write_headers
from sharedq.settings.directories import data_dir_of

#: Programs are linked with one of these names. Each is a file of its own, because a loader asks for the soname.
LIBRARIES: Final = ("libmqm_r.so", "libmqic_r.so", "libmqm.so")
SOURCES: Final = Path(__file__).parent / "c"
WARNINGS: Final = ("-std=c11", "-Wall", "-Wextra", "-Werror")


def installed(env: Mapping[str, str] | None = None) -> Path:
    """The folder that `igq mqm build` uses if none is named; it need not exist."""
    return data_dir_of(os.environ if env is None else env) / "mqm"


def is_built(folder: Path) -> bool:
    return all((folder / "lib64" / name).exists() for name in LIBRARIES)


def build(folder: Path, *, compiler: str = "gcc", flags: Sequence[str] = ("-O2",)) -> None:
    """Compile the library and write its headers. Raises CommandError: there is no compiler, or it fails."""
    if shutil.which(compiler) is None:
        raise CommandError(f"{compiler} is not installed: the C library is compiled with it")
    write_headers(folder / "inc")
    library = folder / "lib64"
    library.mkdir(parents=True, exist_ok=True)
    exports = library / "exports.map"
    exports.write_text("{ global: " + "".join(f"{call}; " for call in CALLS) + "local: *; };\n")
    sources = [str(each) for each in sorted(SOURCES.glob("*.c"))]
    for name in LIBRARIES:
        # Written beside and renamed: a program may have the old one loaded.
        made = library / f"{name}.new"
        command = [compiler, *WARNINGS, *flags, "-fPIC", "-shared", "-pthread", f"-I{folder / 'inc'}", f"-I{SOURCES}"]
        command += [f"-Wl,--version-script={exports}", f"-Wl,-soname,{name}", *sources, "-o", str(made)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CommandError(f"{compiler} cannot compile the C library: {done.stderr.strip()[-2000:]}")
        made.rename(library / name)
    exports.unlink()
