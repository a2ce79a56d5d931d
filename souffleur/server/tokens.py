"""Tokens: the permissions to use the server, in a file with only their hashes."""

import hashlib
import hmac
import json
import os
import secrets
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

import portalocker
from pydantic import AwareDatetime, TypeAdapter, ValidationError, model_validator

from souffleur.errors import NotFoundError, SettingsError
from souffleur.knowledge.identity import check_id
from souffleur.knowledge.memory import Frozen
from souffleur.knowledge.store.erasing import Erased

PREFIX = "souffleur_"
"""The beginning of every token, so that scanners for leaked secrets find it."""
_SECRET_BYTES = 32
"""Number of random bytes of a token: too many to guess, so its hash needs no salt and no cost."""


class Role(StrEnum):
    """The rights of a token."""

    USER = "user"
    """A user: all memories of that user, and no others."""
    PERSONA = "persona"
    """A persona: talks with any user, with the memories that the persona may know."""
    ADMIN = "admin"
    """An admin: all rights."""


class Token(Frozen):
    """A token, without the secret itself."""

    digest: str
    """The SHA-256 hash of the token."""
    role: Role
    """The rights of the token."""
    who: str = ""
    """The id of the user or persona; empty for an admin."""
    label: str = ""
    """A label, in the words of its maker."""
    made_at: AwareDatetime
    """When the token was made."""

    @model_validator(mode="after")
    def _names_its_owner(self) -> "Token":
        if (self.role is Role.ADMIN) != (self.who == ""):
            raise ValueError("a token of a user or persona names one, that of an admin none")
        return self


_TOKENS = TypeAdapter(list[Token])


def digest_of(secret: str) -> str:
    """Return the hash of a token for storage."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def find(tokens: Sequence[Token], secret: str) -> Token | None:
    """Return the token of a secret; all tokens are compared, each in constant time."""
    given, found = digest_of(secret), None
    for token in tokens:
        if hmac.compare_digest(token.digest, given):
            found = token
    return found


class TokenFile:
    """The tokens in a file; a change of the file takes effect at once."""

    def __init__(self, file: Path) -> None:
        """Take the file. Raises SettingsError if it cannot be looked at."""
        self.file = file
        self._was_there = self._stamp() is not None
        self._read_at: tuple[int, int, int] | None = None
        self._tokens: list[Token] = []

    @property
    def tokens(self) -> list[Token]:
        """All tokens; empty without a file. Raises SettingsError for an unreadable file."""
        stamp = self._stamp()
        if stamp != self._read_at:
            self._tokens = self._read() if stamp else []
            self._read_at = stamp
        return self._tokens

    @property
    def in_use(self) -> bool:
        """Whether a token is needed: the file is there, or was there since this object was made.

        If it vanishes, nobody holds a valid token, and all callers are refused.
        """
        self._was_there = self._was_there or self._stamp() is not None
        return self._was_there

    def find(self, secret: str) -> Token | None:
        """Return the token of a secret; `None` for an unknown secret. Raises SettingsError."""
        return find(self.tokens, secret)

    def holds(self, digest: str) -> bool:
        """Return whether a token with this digest has not been revoked. Raises SettingsError."""
        return any(one.digest == digest for one in self.tokens)

    def make(self, role: Role, who: str = "", *, label: str = "", now: datetime) -> str:
        """Add a token and return its secret. The secret is not stored. Raises InputError."""
        if role is not Role.ADMIN:
            check_id(who, "user_id" if role is Role.USER else "agent_id")
        secret = PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
        made = Token(digest=digest_of(secret), role=role, who=who, label=label, made_at=now)
        with self._alone() as tokens:
            self._write([*tokens, made])
        return secret

    def revoke(self, beginning: str) -> list[Token]:
        """Remove the tokens with this beginning of their hash; return the removed tokens."""
        return self._remove(lambda one: bool(beginning) and one.digest.startswith(beginning))

    def revoke_user(self, user_id: str) -> list[Token]:
        """Remove the tokens of a user; return the removed tokens. Raises SettingsError."""
        return self._remove(lambda one: one.role is Role.USER and one.who == user_id)

    def _remove(self, leaves: Callable[[Token], bool]) -> list[Token]:
        if not self.tokens:
            return []  # without a file, none is made
        with self._alone() as tokens:
            gone = [one for one in tokens if leaves(one)]
            if gone:
                self._write([one for one in tokens if one not in gone])
        return gone

    @contextmanager
    def _alone(self) -> Iterator[list[Token]]:
        """Read and yield the tokens while the file is locked. Raises SettingsError."""
        self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = self.file.with_name(f"{self.file.name}.lock")
        with os.fdopen(os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)) as held:
            portalocker.lock(held, portalocker.LOCK_EX)  # until the file is closed
            yield self._read() if self._stamp() else []

    def _stamp(self) -> tuple[int, int, int] | None:
        try:
            stat = self.file.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise self._unreadable(error) from None
        return stat.st_mtime_ns, stat.st_ino, stat.st_size

    def _read(self) -> list[Token]:
        try:
            return _TOKENS.validate_json(self.file.read_bytes())
        except (OSError, ValidationError) as error:
            raise self._unreadable(error) from None

    def _unreadable(self, error: Exception) -> SettingsError:
        why = error.strerror if isinstance(error, OSError) else "it is no list of tokens"
        return SettingsError(
            f"the tokens in '{self.file}' cannot be read ({why}): mend the file, or delete it and "
            "make new ones with `souffleur token`"
        )

    def _write(self, tokens: Sequence[Token]) -> None:
        """Replace the file; only its owner can read it."""
        text = json.dumps([one.model_dump(mode="json") for one in tokens], indent=1)
        handle, beside = tempfile.mkstemp(prefix=f".{self.file.name}.", dir=self.file.parent)
        with os.fdopen(handle, "w") as file:  # made by mkstemp: only its owner can read it
            file.write(text)
        Path(beside).replace(self.file)


class Erasing(Protocol):
    """What erases users: a memory, or a client of one."""

    async def erase_user(self, *, user_id: str) -> Erased:
        """Erase everything of a user. Raises NotFoundError if nothing is known."""
        ...


async def erase_person(memory: Erasing, tokens: TokenFile | None, user_id: str) -> Erased:
    """Erase everything of a user and revoke the user's tokens; return the numbers of both.

    The tokens go first, so that no request with one makes the user again meanwhile. Raises
    NotFoundError if there is neither a record nor a token.
    """
    gone = tokens.revoke_user(user_id) if tokens else []
    try:
        erased = await memory.erase_user(user_id=user_id)
    except NotFoundError:
        if not gone:
            raise
        erased = Erased(user_id, {})
    return replace(erased, counts={**erased.counts, "token": len(gone)}) if gone else erased
