"""The users of the console, in a file: names, roles, hashes of passwords and tokens."""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import json
import os
import re
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from igq.errors import CommandError
from igq.output.files import write_whole
from sharedq.objects.store.authorities import check_profile
from sharedq.settings.directories import make_private

#: Names of users; IBM's UserIdentifier has 12 bytes, so longer names would be cut in messages.
USER_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.@-]{0,11}")
#: Characters of a password.
SHORTEST_PASSWORD, LONGEST_PASSWORD = 8, 1_024
#: Cost of a hash: 32 MiB and about a tenth of a second.
_N, _R, _P = 2**15, 8, 1
_HASH_MEMORY = 128 * _N * _R + (1 << 20)
_TOKEN_PREFIX = "igq_"


class Role(IntEnum):
    """A role may do what a smaller one may, but for MESSAGING: see `igq.web.access.messages`."""

    #: Puts, gets and browses by REST, on the queues of its authorities, and nothing else.
    MESSAGING = 0
    VIEWER = 1
    OPERATOR = 2
    ADMINISTRATOR = 3

    @property
    def word(self) -> RoleWord:
        """The role as it stands in the file and on the command line."""
        return _WORDS[self]


RoleWord = Literal["messaging", "viewer", "operator", "administrator"]
_WORDS: dict[int, RoleWord] = {0: "messaging", 1: "viewer", 2: "operator", 3: "administrator"}


class BearerToken(BaseModel):
    """A bearer token. ``digest``: SHA-256 in hexadecimal. Times are seconds since 1970.

    Attributes:
        queues: profiles of queues, as in authority records: it is good for messages on these, and for nothing else.
            Empty: it is good for all that its user may do.
    """

    model_config = ConfigDict(extra="forbid")

    digest: str
    created_s: float
    expires_s: float | None = None
    queues: tuple[str, ...] = ()


class User(BaseModel):
    """A user. ``password``: ``scrypt$N$r$p$SALT$HASH``, the last two in hexadecimal."""

    model_config = ConfigDict(extra="forbid")

    role: RoleWord
    password: str
    tokens: dict[str, BearerToken] = {}

    @property
    def rank(self) -> Role:
        """The role as something that can be compared."""
        return Role[self.role.upper()]


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid")

    users: dict[str, User] = {}


class Users:
    """The users in *path*. Each look sees what another process has changed meanwhile.

    A file that others than its owner can read or write is refused, for it decides who may do what.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stamp: tuple[int, int, int] | None = None
        self._users: dict[str, User] = {}

    def all(self) -> dict[str, User]:
        """Return the users by name.

        Raises:
            CommandError: the file cannot be used.
        """
        try:
            found = self.path.stat()
        except FileNotFoundError:
            self._stamp, self._users = None, {}
            return {}
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from None
        stamp = (found.st_ino, found.st_mtime_ns, found.st_size)
        if stamp != self._stamp:
            if found.st_mode & 0o077:
                raise self._unusable("others can read or write it: chmod 600")
            self._users, self._stamp = self._read().users, stamp
        return self._users

    def get(self, name: str) -> User | None:
        """Return a user, or None. Raises CommandError: the file cannot be used."""
        return self.all().get(name)

    def add(self, name: str, role: Role, password: str) -> bool:
        """Add a user, or give one a new role and password. Tokens stay. True for a new user.

        Raises:
            CommandError: name or password cannot be used, or the file cannot be written.
        """
        if not USER_NAME.fullmatch(name):
            raise CommandError(f"{name!r} cannot be a user: 1 to 12 of A-Z a-z 0-9 _ . @ -, the first no . @ -", 2)
        hashed = hash_password(password)
        with self._changed() as file:
            old = file.users.get(name)
            file.users[name] = User(role=role.word, password=hashed, tokens=old.tokens if old else {})
        return old is None

    def remove(self, name: str) -> None:
        """Remove a user with all tokens. Sessions of the user end at once. Raises CommandError: there is none."""
        with self._changed() as file:
            if file.users.pop(name, None) is None:
                raise self._unknown(name)

    def add_token(self, name: str, days: float | None, queues: Sequence[str] = ()) -> tuple[str, str]:
        """Give a user a token that is valid for *days*, or until it is removed. Returns its id, and the token itself.

        Only its digest is kept, so that nobody can read the token again.

        Args:
            queues: profiles of queues, if it is good only for their messages.

        Raises:
            CommandError: there is no such user, or a profile is invalid.
        """
        try:
            kept = tuple(map(check_profile, queues))
        except ValueError as error:
            raise CommandError(f"--queue {' --queue '.join(queues)}: allowed: {error}", 2) from None
        token_id, secret = secrets.token_hex(4), _TOKEN_PREFIX + secrets.token_urlsafe(32)
        now_s = time.time()
        with self._changed() as file:
            if (user := file.users.get(name)) is None:
                raise self._unknown(name)
            expires_s = None if days is None else now_s + days * 86_400
            user.tokens[token_id] = BearerToken(
                digest=_digest(secret), created_s=now_s, expires_s=expires_s, queues=kept
            )
        return token_id, secret

    def remove_token(self, token_id: str) -> str:
        """Remove a token. Returns the user it belonged to. Raises CommandError: there is none."""
        with self._changed() as file:
            for name, user in file.users.items():
                if user.tokens.pop(token_id, None) is not None:
                    return name
            raise CommandError(f"there is no token {token_id}")

    def find_token(self, secret: str) -> tuple[str, BearerToken] | None:
        """Return the user of a valid token, and the token; or None. Raises CommandError: the file cannot be used."""
        digest, found = _digest(secret), None
        for name, user in self.all().items():
            for token in user.tokens.values():
                is_valid = token.expires_s is None or token.expires_s > time.time()
                if hmac.compare_digest(token.digest, digest) and is_valid:
                    found = name, token
        return found

    @contextmanager
    def _changed(self) -> Iterator[_File]:
        """Read the file, let the caller change it, and write it in one step. Two commands at once lose nothing."""
        try:
            make_private(self.path.parent)
            with open(f"{self.path}.lock", "a", opener=_private_opener) as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                self.all()
                file = self._read() if self.path.exists() else _File()
                yield file
                self._write(file)
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from None

    def _read(self) -> _File:
        try:
            return _File.model_validate_json(self.path.read_bytes())
        except OSError as error:
            raise self._unusable(error.strerror or str(error)) from None
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(map(str, first["loc"]))
            raise self._unusable(f"{place + ': ' if place else ''}{first['msg']}") from None

    def _write(self, file: _File) -> None:
        text = json.dumps(file.model_dump(mode="json", exclude_none=True, exclude_defaults=True), indent=2)
        write_whole(self.path, f"{text}\n".encode(), 0o600)

    def _unusable(self, why: str) -> CommandError:
        return CommandError(f"users of the console, {self.path}: {why}")

    def _unknown(self, name: str) -> CommandError:
        known = ", ".join(self.all()) or "there is none yet"
        return CommandError(f"there is no user {name} of the console: {known}")


def hash_password(password: str) -> str:
    """Hash a password with a new salt. Raises CommandError: it is too short or too long."""
    if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
        raise CommandError(f"a password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters", 2)
    salt = secrets.token_bytes(16)
    return f"scrypt${_N}${_R}${_P}${salt.hex()}${_scrypt(password, salt, _N, _R, _P).hex()}"


def is_password(password: str, hashed: str) -> bool:
    """Whether *hashed* was made from *password*. Takes a tenth of a second, by intent."""
    try:
        kind, n, r, p, salt, expected = hashed.split("$")
        made = _scrypt(password, bytes.fromhex(salt), int(n), int(r), int(p))
        return kind == "scrypt" and hmac.compare_digest(made, bytes.fromhex(expected))
    except (ValueError, UnicodeEncodeError):
        return False


#: Compared with the password of an unknown user, which then takes as long as that of a known one.
NOBODY = f"scrypt${_N}${_R}${_P}${bytes(16).hex()}${bytes(32).hex()}"


def _scrypt(password: str, salt: bytes, n: int, r: int, p: int) -> bytes:
    return hashlib.scrypt(password.encode(), salt=salt, n=n, r=r, p=p, maxmem=_HASH_MEMORY, dklen=32)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()


def _private_opener(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
