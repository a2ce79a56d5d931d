"""Tokens: who may use the server, in a file that holds their hashes alone."""

import hashlib
import hmac
import json
import os
import secrets
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from enum import StrEnum
from pathlib import Path

import portalocker
from pydantic import AwareDatetime, TypeAdapter, ValidationError, model_validator

from souffleur.errors import SettingsError
from souffleur.knowledge.identity import check_id
from souffleur.knowledge.memory import Frozen

PREFIX = "souffleur_"
"""The beginning of every token, by which scanners for leaked secrets know it."""
_SECRET_BYTES = 32
"""Random bytes of a token: too many to guess, so its hash needs no salt and no cost."""


class Role(StrEnum):
    """The purpose of a token."""

    USER = "user"
    """One user: all of their memories, and nothing else."""
    PERSONA = "persona"
    """One persona: to talk with any user, with the memories that it may know."""
    ADMIN = "admin"
    """Everything."""


class Token(Frozen):
    """A token, without the secret itself."""

    digest: str
    """The SHA-256 of the token."""
    role: Role
    """Its purpose."""
    who: str = ""
    """The id of the user or persona; empty for an admin."""
    label: str = ""
    """A label, in the words of its maker."""
    made_at: AwareDatetime
    """When it was made."""

    @model_validator(mode="after")
    def _names_its_owner(self) -> "Token":
        if (self.role is Role.ADMIN) != (self.who == ""):
            raise ValueError("a token of a user or persona names one, that of an admin none")
        return self


_TOKENS = TypeAdapter(list[Token])


def digest_of(secret: str) -> str:
    """Return the hash under which a token is stored."""
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()


def find(tokens: Sequence[Token], secret: str) -> Token | None:
    """Return the token of a secret; each one is compared, in constant time."""
    given, found = digest_of(secret), None
    for token in tokens:
        if hmac.compare_digest(token.digest, given):
            found = token
    return found


class TokenFile:
    """The tokens in a file; a change of the file holds at once."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self._read_at: tuple[int, int, int] | None = None
        self._tokens: list[Token] = []

    @property
    def tokens(self) -> list[Token]:
        """All tokens; empty without a file. Raises SettingsError if it cannot be read."""
        stamp = self._stamp()
        if stamp != self._read_at:
            self._tokens = self._read() if stamp else []
            self._read_at = stamp
        return self._tokens

    @property
    def is_there(self) -> bool:
        """Whether tokens were ever made here: a file without any lets nobody in."""
        return self._stamp() is not None

    def find(self, secret: str) -> Token | None:
        """Return the token of a secret; `None` if there is none. Raises SettingsError."""
        return find(self.tokens, secret)

    def holds(self, digest: str) -> bool:
        """Return whether a token with this digest has not been revoked. Raises SettingsError."""
        return any(one.digest == digest for one in self.tokens)

    def make(self, role: Role, who: str = "", *, label: str = "", now: datetime) -> str:
        """Add a token and return its secret, which is stored nowhere. Raises InputError."""
        if role is not Role.ADMIN:
            check_id(who, "user_id" if role is Role.USER else "agent_id")
        secret = PREFIX + secrets.token_urlsafe(_SECRET_BYTES)
        made = Token(digest=digest_of(secret), role=role, who=who, label=label, made_at=now)
        with self._alone() as tokens:
            self._write([*tokens, made])
        return secret

    def revoke(self, beginning: str) -> list[Token]:
        """Remove the tokens whose hash begins so; return them."""
        with self._alone() as tokens:
            gone = [one for one in tokens if beginning and one.digest.startswith(beginning)]
            if gone:
                self._write([one for one in tokens if one not in gone])
        return gone

    @contextmanager
    def _alone(self) -> Iterator[list[Token]]:
        """Yield the tokens, read anew, while nobody else may change them. Raises SettingsError."""
        self.file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        lock = self.file.with_name(f"{self.file.name}.lock")
        with os.fdopen(os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)) as held:
            portalocker.lock(held, portalocker.LOCK_EX)  # until it is closed
            yield self._read() if self.is_there else []

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
        """Replace the file, readable by its owner alone."""
        text = json.dumps([one.model_dump(mode="json") for one in tokens], indent=1)
        handle, beside = tempfile.mkstemp(prefix=f".{self.file.name}.", dir=self.file.parent)
        with os.fdopen(handle, "w") as file:  # mkstemp made it, readable by its owner alone
            file.write(text)
        Path(beside).replace(self.file)
