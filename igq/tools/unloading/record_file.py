"""The file that a queue is unloaded to: a line of JSON for its header, then one for each message.

The header has a fixed length, because count and checksum are written into it at the end. A file without them is not
complete: its command was interrupted. Text fields are Latin-1, so that every byte comes back; identifiers are
hexadecimal; data are Base64.
"""

from __future__ import annotations

import base64
import binascii
import fcntl
import hashlib
import json
import os
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Final

from igq.errors import CommandError
from sharedq.mqi.structures import MQMD

#: Version of the format, and its name.
VERSION: Final = 1
_KIND: Final = "igq unload"
#: Bytes of the header with its line end: what a complete one can need, and more.
_HEADER_LENGTH: Final = 512
#: The longest line: a message of 100 MiB in Base64, and its descriptor.
_LINE_MAX: Final = 160 << 20
#: Descriptor fields that are identifiers, and those that are text; all others are numbers.
_IDENTIFIERS: Final = {"msg_id": 24, "correl_id": 24, "accounting_token": 32, "group_id": 24}
_INITIAL: Final = MQMD()
_FIELDS: Final = tuple(field.name for field in fields(MQMD))
_TEXTS: Final = {name for name in _FIELDS if isinstance(getattr(_INITIAL, name), bytes)} - _IDENTIFIERS.keys()


@dataclass(frozen=True, slots=True)
class Header:
    """The header of a file.

    Attributes:
        id: of this file; a load remembers by it how far it came.
        group, qmgr, queue: where the messages come from.
        begun: when, ISO 8601.
        is_removed: the messages were taken off the queue.
        count, checksum: messages, and SHA-256 of their lines; None: the file is not complete.
    """

    id: str
    group: str
    qmgr: str
    queue: str
    begun: str
    is_removed: bool
    count: int | None = None
    checksum: str | None = None

    @classmethod
    def new(cls, group: str, qmgr: str, queue: str, begun: str, *, is_removed: bool) -> Header:
        """The header of a new file."""
        return cls(secrets.token_hex(12), group, qmgr, queue, begun, is_removed)


@dataclass(frozen=True, slots=True)
class Record:
    """A message.

    Attributes:
        structure, message_id: its key in Redis at the time; by it an interrupted removal finds out what was done.
        unit: the unit of work that removed it, from 1; 0: none did.
    """

    md: MQMD
    body: bytes
    structure: str = ""
    message_id: str = ""
    unit: int = 0


class RecordWriter:
    """Writes a new file, or goes on with one that is not complete. Leaving its ``with`` does not complete it."""

    def __init__(self, path: Path, header: Header, file: BinaryIO, count: int, digest: Any) -> None:
        self.header = header
        self._path, self._file, self._count, self._digest = path, file, count, digest

    @classmethod
    def create(cls, path: Path, header: Header) -> RecordWriter:
        """Begin a file. Raises CommandError: it exists, or cannot be written."""
        try:
            # It holds the bodies of messages.
            file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb")
        except FileExistsError:
            raise CommandError(f"{path} exists already; give another name") from None
        except OSError as error:
            raise CommandError(f"{path}: {error.strerror}") from None
        _lock(path, file)
        writer = cls(path, header, file, 0, hashlib.sha256())
        writer._write_header()
        writer.sync()
        directory = os.open(path.absolute().parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
        return writer

    @classmethod
    def reopen(cls, path: Path, header: Header, size: int) -> RecordWriter:
        """Go on with an unfinished file after its first *size* bytes; the bytes after them are removed."""
        digest, count = hashlib.sha256(), 0
        try:
            file = path.open("r+b")
            _lock(path, file)
            file.truncate(size)
            file.seek(_HEADER_LENGTH)
            for line in file:
                digest.update(line)
                count += 1
        except OSError as error:
            raise CommandError(f"{path}: {error.strerror}") from None
        return cls(path, header, file, count, digest)

    @property
    def count(self) -> int:
        """Messages in the file."""
        return self._count

    def write(self, records: Sequence[Record]) -> None:
        """Add messages. Raises CommandError: there is no room, for example."""
        try:
            for record in records:
                line = _line(record)
                self._file.write(line)
                self._digest.update(line)
            self._file.flush()
        except OSError as error:
            raise CommandError(f"{self._path}: {error.strerror}") from None
        self._count += len(records)

    def sync(self) -> None:
        """Have everything on the disk. Raises CommandError: it is not."""
        try:
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise CommandError(f"{self._path}: {error.strerror}") from None

    def complete(self) -> Header:
        """Write count and checksum into the header, once everything before is on the disk."""
        self.sync()
        self.header = replace(self.header, count=self._count, checksum=self._digest.hexdigest())
        self._write_header()
        self.sync()
        return self.header

    def _write_header(self) -> None:
        text = {"kind": _KIND, "version": VERSION} | {name: getattr(self.header, name) for name in Header.__slots__}
        line = json.dumps(text).encode()
        try:
            self._file.seek(0)
            self._file.write(line.ljust(_HEADER_LENGTH - 1) + b"\n")
            self._file.seek(0, os.SEEK_END)
        except OSError as error:
            raise CommandError(f"{self._path}: {error.strerror}") from None

    def __enter__(self) -> RecordWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._file.close()


def read_header(path: Path) -> Header:
    """Read the header of a file. Raises CommandError: it is not such a file, or of a newer version."""
    try:
        with path.open("rb") as file:
            text = json.loads(file.readline(_HEADER_LENGTH))
        if text["kind"] != _KIND:
            raise ValueError
        if text["version"] > VERSION:
            raise CommandError(f"{path} has format {text['version']}; this version of igq reads up to {VERSION}")
        header = Header(**{name: text[name] for name in Header.__slots__})
        if not (
            str(header.id).isalnum() and all(type(each) is str for each in (header.id, header.group, header.queue))
        ):
            raise ValueError
    except OSError as error:
        raise CommandError(f"{path}: {error.strerror}") from None
    except (ValueError, TypeError, KeyError, RecursionError, OverflowError):
        raise CommandError(f"{path} is no file of igq unload") from None
    return header


def check_file(path: Path, header: Header) -> None:
    """Check that a complete file is as it was written. Raises CommandError: it is not, or not complete."""
    if header.count is None:
        raise CommandError(
            f"{path} is not complete: its unload was interrupted"
            + ("; finish it with igq unload --remove --resume" if header.is_removed else "; unload the queue again")
        )
    digest, count = hashlib.sha256(), 0
    with path.open("rb") as file:
        file.seek(_HEADER_LENGTH)
        for line in file:
            digest.update(line)
            count += 1
    if (count, digest.hexdigest()) != (header.count, header.checksum):
        raise CommandError(f"{path} was changed: {count} messages where the header says {header.count}, or other ones")


def read_records(path: Path) -> Iterator[tuple[int, Record]]:
    """Yield each message with where its line ends in the file. A last line that is torn is left out.

    Raises:
        CommandError: a line is not a message.
    """
    with path.open("rb") as file:
        file.seek(_HEADER_LENGTH)
        number = 1
        while line := file.readline(_LINE_MAX):
            number += 1
            if not line.endswith(b"\n"):
                return
            try:
                yield file.tell(), _record(line)
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError) as error:
                raise CommandError(f"{path}, line {number}: this is no message ({error})") from None


def beginning() -> int:
    """Where the first message begins in a file."""
    return _HEADER_LENGTH


def _lock(path: Path, file: BinaryIO) -> None:
    """Keep other commands from writing to the file, for as long as it is open."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise CommandError(f"{path} is being written by another command") from None


def _line(record: Record) -> bytes:
    md: dict[str, Any] = {}
    for name in _FIELDS:
        value = getattr(record.md, name)
        if value == getattr(_INITIAL, name):
            continue
        md[name] = value.hex() if name in _IDENTIFIERS else value.decode("latin-1") if name in _TEXTS else value
    text = {"md": md, "structure": record.structure, "id": record.message_id, "unit": record.unit}
    body = base64.b64encode(record.body).decode()
    return (json.dumps(text | {"body": body}, separators=(",", ":")) + "\n").encode()


def _record(line: bytes) -> Record:
    text = json.loads(line)
    md = MQMD()
    for name, value in text["md"].items():
        if name not in _FIELDS:
            raise ValueError(f"{name} is no field of a descriptor")
        setattr(md, name, _value(name, value))
    try:
        body = base64.b64decode(text["body"], validate=True)
    except binascii.Error:
        raise ValueError("its data are not Base64") from None
    return Record(md, body, str(text["structure"]), str(text["id"]), int(text["unit"]))


def _value(name: str, value: Any) -> bytes | int:
    if name in _IDENTIFIERS:
        identifier = bytes.fromhex(value)
        if len(identifier) != _IDENTIFIERS[name]:
            raise ValueError(f"{name} has {len(identifier)} bytes")
        return identifier
    if name in _TEXTS:
        return bytes(value.encode("latin-1"))
    if type(value) is not int:
        raise ValueError(f"{name} is no number")
    return value
