"""Packs the compiled C library into the wheel ``igq-mqm``, for environments that have neither a compiler nor igq."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from igq import __version__
from igq.mqm import library

_PACKAGE: Final = "igq_mqm"
_INIT: Final = '''"""IBM MQ's C library for queue managers of igq, compiled."""

from pathlib import Path

#: The folder with inc/ and lib64/.
FOLDER = Path(__file__).parent
'''
_MAIN: Final = '''"""``python -m igq_mqm``: prints the folder of the libraries, for LD_LIBRARY_PATH."""

from igq_mqm import FOLDER

print(FOLDER / "lib64")
'''
#: Of each file, whatever the time: the same sources give the same wheel.
_AT: Final = (1980, 1, 1, 0, 0, 0)


def build_wheel(to: Path, *, compiler: str = "gcc") -> Path:
    """Compile the library and write its wheel into the folder *to*. Returns its path.

    Args:
        compiler: one for another processor makes a wheel for that, for example ``aarch64-linux-gnu-gcc``.

    Raises:
        CommandError: there is no compiler, or it fails.
        OSError: the wheel cannot be written.
    """
    with tempfile.TemporaryDirectory(prefix="igq") as name:
        folder = Path(name)
        library.build(folder, compiler=compiler)
        command = [compiler, "-dumpmachine"]
        machine = subprocess.run(command, capture_output=True, text=True, check=True).stdout.partition("-")[0]
        tag = f"py3-none-linux_{machine}"
        files = {
            f"{_PACKAGE}/__init__.py": _INIT.encode(),
            f"{_PACKAGE}/__main__.py": _MAIN.encode(),
            **{f"{_PACKAGE}/{path.relative_to(folder)}": path.read_bytes() for path in _files(folder)},
        }
    files |= _metadata(tag)
    to.mkdir(parents=True, exist_ok=True)
    wheel = to / f"{_PACKAGE}-{__version__}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, data in (files | _record(files)).items():
            archive.writestr(zipfile.ZipInfo(path, _AT), data, zipfile.ZIP_DEFLATED)
    return wheel


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())


def _metadata(tag: str) -> dict[str, bytes]:
    about = f"Metadata-Version: 2.1\nName: igq-mqm\nVersion: {__version__}\nSummary: IBM MQ's C library for igq\n"
    how = f"Wheel-Version: 1.0\nGenerator: igq\nRoot-Is-Purelib: false\nTag: {tag}\n"
    return {_about("METADATA"): about.encode(), _about("WHEEL"): how.encode()}


def _record(files: dict[str, bytes]) -> dict[str, bytes]:
    """The list of all files with their digests, as PEP 427 asks for it."""
    lines = [f"{path},sha256={_digest(data)},{len(data)}" for path, data in files.items()]
    return {_about("RECORD"): "\n".join([*lines, f"{_about('RECORD')},,", ""]).encode()}


def _about(name: str) -> str:
    return f"{_PACKAGE}-{__version__}.dist-info/{name}"


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
