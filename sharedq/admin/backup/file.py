"""The file of a backup: messages as they were found, what became of them during the backup, and the end.

A frame is a letter, the length of its content (4 bytes, big-endian), and the content. ``H``: JSON that says what this
is a backup of. ``M``: a message, with queue and id, each after a length byte, its place (8 bytes) and its record; of
several with one id the last counts. ``G``: ids of messages that are gone, separated by blanks. ``E``: JSON with the
definitions of the structure and its queues, and the end. After it comes the SHA-256 of everything before.

The log of a backup is a second file with what has changed since, in parts. A part has the frames ``M`` and ``G`` of the
changes and an ``E`` of the moment at which they are complete. After it comes the SHA-256 of the digest before (of the
backup, or of the part before) and of the part: so a log belongs to one backup, and a part that was cut off is ignored.
"""

from __future__ import annotations

import hashlib
import json
import os
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from sharedq.admin.backup.errors import BackupError, no_backup
from sharedq.settings.directories import make_private
from sharedq.settings.values import Settings

FORMAT = 1
_HEAD = struct.Struct(">cI")
_PLACE = struct.Struct(">Q")
#: Bytes of what a backup says it is of, at most.
_LONGEST_ABOUT = 65_536
_DIGEST_BYTES = hashlib.sha256().digest_size


class Stored(NamedTuple):
    """A message in a backup. ``score`` is its place on the queue."""

    queue: bytes
    id: bytes
    score: int
    record: bytes


def backup_path(settings: Settings, structure: str) -> Path:
    """Return the path of a structure's latest backup."""
    return settings.backups / f"{settings.group}.{structure}.backup"


def log_path(path: Path) -> Path:
    """Return the path of the log of the backup *path*."""
    return path.with_name(path.name + ".log")


def failure_path(path: Path) -> Path:
    """Return the path of what is noted of an attempt, later than the backup *path*, that failed."""
    return path.with_name(path.name + ".failed")


def read_about(path: Path) -> dict[str, Any]:
    """Return what a backup says it is of, without a look at the rest. Raises OSError, ValueError: it is none."""
    with path.open("rb") as file:
        head = file.read(_HEAD.size)
        if len(head) < _HEAD.size:
            raise ValueError("no backup")
        kind, length = _HEAD.unpack(head)
        about: Any = json.loads(file.read(length)) if kind == b"H" and length <= _LONGEST_ABOUT else None
    if not isinstance(about, dict):
        raise ValueError("no backup")
    return about


class BackupWriter:
    """Writes a backup beside the previous one, which it replaces when it is complete.

    Raises (from every method):
        OSError: the file cannot be written.
    """

    def __init__(self, path: Path, about: Mapping[str, Any]) -> None:
        self._path, self._partial = path, path.with_name(path.name + ".partial")
        make_private(path.parent)
        self._file = os.fdopen(os.open(self._partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")
        self._digest = hashlib.sha256()
        self.bytes = 0
        self._frame(b"H", json.dumps({"format": FORMAT, **about}).encode())

    def message(self, queue: bytes, message_id: bytes, score: int, record: bytes) -> None:
        """Write a message that is on a queue."""
        self._frame(b"M", _message_frame(queue, message_id, score, record))

    def gone(self, ids: list[bytes]) -> None:
        """Write the ids of messages that are no longer there."""
        self._frame(b"G", b" ".join(ids))

    def end(self, values: Mapping[str, Any]) -> bytes:
        """Complete the backup, which from now on is the latest. Returns its digest."""
        self._frame(b"E", json.dumps(values).encode())
        self._file.write(self._digest.digest())
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        self._partial.replace(self._path)
        directory = os.open(self._path.parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)
        return self._digest.digest()

    def give_up(self) -> None:
        """Give up, and leave the previous backup as it is."""
        self._file.close()
        self._partial.unlink(missing_ok=True)

    def _frame(self, kind: bytes, payload: bytes) -> None:
        frame = _HEAD.pack(kind, len(payload)) + payload
        self._digest.update(frame)
        self._file.write(frame)
        self.bytes += len(frame)


class LogWriter:
    """Writes the log of the backup *path*, which has this digest, from its beginning.

    Attributes:
        bytes: what the log has so far.
        frames: what the part has that is being written.

    Raises (from every method):
        OSError: the file cannot be written.
    """

    def __init__(self, path: Path, digest: bytes) -> None:
        self._file = os.fdopen(os.open(log_path(path), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb")
        self._digest = hashlib.sha256(digest)
        self.bytes = self.frames = 0

    def message(self, queue: bytes, message_id: bytes, score: int, record: bytes) -> None:
        """Write a message that is on a queue now."""
        self._frame(b"M", _message_frame(queue, message_id, score, record))

    def gone(self, ids: list[bytes]) -> None:
        """Write the ids of messages that are no longer there."""
        self._frame(b"G", b" ".join(ids))

    def end(self, values: Mapping[str, Any]) -> None:
        """Complete the part. When this returns, the part survives a crash of this machine."""
        self._frame(b"E", json.dumps(values).encode())
        digest = self._digest.digest()
        self._file.write(digest)
        self._file.flush()
        os.fdatasync(self._file.fileno())
        self._digest, self.frames = hashlib.sha256(digest), 0

    def close(self) -> None:
        """Close the file. A part that was begun is ignored when the log is read."""
        self._file.close()

    def _frame(self, kind: bytes, payload: bytes) -> None:
        frame = _HEAD.pack(kind, len(payload)) + payload
        self._digest.update(frame)
        self._file.write(frame)
        self.bytes += len(frame)
        self.frames += 1


class Backup:
    """A complete backup that was read.

    Attributes:
        about: what it is a backup of.
        ending: the definitions of the queues, and how the backup ended.
        digest: identifies the backup.
    """

    def __init__(self, path: Path, group: str, structure: str) -> None:
        """Read and check the whole file.

        Raises:
            BackupError: there is no file, it is damaged, or it is a backup of something else.
        """
        self.path = path
        try:
            with path.open("rb") as file:
                size = os.fstat(file.fileno()).st_size - _DIGEST_BYTES
                self.about, self.ending, self._where, self.digest = _scan(file, size)
        except FileNotFoundError:
            raise no_backup(structure, f"there is no {path}") from None
        except OSError as error:
            raise no_backup(structure, f"{path} cannot be read: {error.strerror}") from error
        except (ValueError, KeyError, IndexError, struct.error) as error:
            raise no_backup(structure, f"{path} is not a complete backup") from error
        whose = self.about["group"], self.about["structure"]
        if whose != (group, structure):
            raise no_backup(structure, f"{path} is a backup of {whose[1]} of group {whose[0]}")
        #: Where the log has messages. These records count, not the records in the backup.
        self._in_log: dict[bytes, int] = {}
        #: The moment at which its log ends. Empty if it has none.
        self.logged_until = ""
        self._follow_log()

    def _follow_log(self) -> None:
        """Take in every complete part of the log of this backup, if it has one."""
        try:
            with log_path(self.path).open("rb") as file:
                for changes, ending in _parts(file, self.digest):
                    for message_id, at in changes:
                        self._where.pop(message_id, None)
                        self._in_log.pop(message_id, None)
                        if at is not None:
                            self._in_log[message_id] = at
                    self.ending, self.logged_until = ending, str(ending["at"])
        except FileNotFoundError:
            return
        except OSError as error:
            raise no_backup(
                str(self.about["structure"]), f"{error.filename} cannot be read: {error.strerror}"
            ) from error

    def __len__(self) -> int:
        return len(self._where) + len(self._in_log)

    def messages(self) -> Iterator[Stored]:
        """Yield the messages in the order in which they were found.

        Raises:
            BackupError: the file cannot be read any more.
        """
        try:
            for path, places in ((self.path, self._where), (log_path(self.path), self._in_log)):
                if not places:
                    continue
                with path.open("rb") as file:
                    for at in sorted(places.values()):
                        file.seek(at)
                        _, length = _HEAD.unpack(file.read(_HEAD.size))
                        yield _message(file.read(length))
        except (OSError, IndexError, struct.error) as error:
            raise no_backup(str(self.about["structure"]), f"{self.path} cannot be read: {error}") from error


def _scan(file: BinaryIO, size: int) -> tuple[dict[str, Any], dict[str, Any], dict[bytes, int], bytes]:
    """Return what the file is about, its end, the place of each message that counts, and the digest.

    Raises:
        ValueError, KeyError, IndexError, struct.error: it is not a complete backup.
    """
    digest, where = hashlib.sha256(), dict[bytes, int]()
    about: dict[str, Any] | None = None
    ending: dict[str, Any] | None = None
    at = 0
    while at < size:
        head = file.read(_HEAD.size)
        kind, length = _HEAD.unpack(head)
        if ending is not None or at + _HEAD.size + length > size:
            raise ValueError("frames")
        payload = file.read(length)
        digest.update(head)
        digest.update(payload)
        if kind == b"M":
            where[_message(payload).id] = at
        elif kind == b"G":
            for message_id in payload.split(b" "):
                where.pop(message_id, None)
        elif kind == b"H":
            about = json.loads(payload)
        elif kind == b"E":
            ending = json.loads(payload)
        at += _HEAD.size + length
    if file.read() != digest.digest() or about is None or ending is None or about["format"] != FORMAT:
        raise ValueError("end")
    _ = about["group"], about["structure"], ending["queues"], ending["sequence"]
    return about, ending, where, digest.digest()


def _parts(file: BinaryIO, digest: bytes) -> Iterator[tuple[list[tuple[bytes, int | None]], dict[str, Any]]]:
    """Yield the complete parts of a log: the messages that have changed, with their places or None, and the end."""
    at, summed = 0, hashlib.sha256(digest)
    changes: list[tuple[bytes, int | None]] = []
    while len(head := file.read(_HEAD.size)) == _HEAD.size:
        kind, length = _HEAD.unpack(head)
        payload = file.read(length)
        summed.update(head + payload)
        try:
            if kind == b"M":
                changes.append((_message(payload).id, at))
            elif kind == b"G":
                changes += [(message_id, None) for message_id in payload.split(b" ")]
        except (IndexError, struct.error):
            return
        at += _HEAD.size + length
        if kind == b"E":
            if file.read(_DIGEST_BYTES) != summed.digest():
                return
            yield changes, json.loads(payload)
            at += _DIGEST_BYTES
            changes, summed = [], hashlib.sha256(summed.digest())


def _message_frame(queue: bytes, message_id: bytes, score: int, record: bytes) -> bytes:
    return bytes((len(queue),)) + queue + bytes((len(message_id),)) + message_id + _PLACE.pack(score) + record


def _message(payload: bytes) -> Stored:
    queue_end = 1 + payload[0]
    id_end = queue_end + 1 + payload[queue_end]
    (score,) = _PLACE.unpack_from(payload, id_end)
    return Stored(payload[1:queue_end], payload[queue_end + 1 : id_end], score, payload[id_end + _PLACE.size :])


__all__ = ["Backup", "BackupError", "BackupWriter", "LogWriter", "Stored", "backup_path", "log_path"]
