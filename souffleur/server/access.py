"""Access: the callers of each method and their users, for HTTP, MCP and the proxy.

A route has the name of its method, a tool names its method, and the proxy counts as `observe`. Each
of them calls `Access.need` first, then `Access.user` or `Access.talk` to find the user. Nobody may
call a method that is not in `METHODS`.
"""

from dataclasses import dataclass
from typing import Annotated, NamedTuple, cast

from fastapi import Depends, Query, Request

from souffleur.api import Souffleur
from souffleur.knowledge.identity import MAX_ID_LENGTH, PERSONAS, check_sent_id
from souffleur.server.problems import RequestError
from souffleur.server.table import METHODS
from souffleur.server.tokens import Role, Token, TokenFile


@dataclass(frozen=True)
class Access:
    """The rights of a caller; by default all rights, as over the owner's socket."""

    role: Role = Role.ADMIN
    who: str = ""
    """The user or persona; empty for an admin."""
    token: str | None = None
    """The digest of the token; `None` if no token was needed."""

    @classmethod
    def by(cls, token: Token) -> "Access":
        """Return the rights of a token."""
        return cls(token.role, token.who, token.digest)

    def need(self, method: str) -> None:
        """Raise RequestError (403) if the caller may not call a method at all."""
        if self.role not in METHODS[method]:
            user = "the user or of " if Role.USER in METHODS[method] else ""
            raise RequestError(403, f"this needs a token of {user}an admin: see `souffleur token`")

    def user(self, named: str | None) -> str:
        """Return the user of a request for the memories of all personas.

        Raises RequestError: 400 if no user is named, 403 if the caller has no right.
        """
        if self.role is Role.PERSONA:
            raise RequestError(403, "a token of a persona opens what that persona may know alone")
        return self._of(named)

    def talk(self, named: str | None, agent_id: str | None) -> tuple[str, str | None]:
        """Return the user and the persona of a talk. Raises RequestError as `user` does."""
        if self.role is not Role.PERSONA:
            return self._of(named), agent_id
        if agent_id not in (None, self.who):
            raise RequestError(403, f"this token is for the persona {self.who!r} alone")
        return self._of(named), self.who

    def _of(self, named: str | None) -> str:
        if self.role is Role.USER and named in (None, self.who):
            return self.who
        if self.role is Role.USER:
            raise RequestError(403, "this token is for another user")
        if named is None:
            raise RequestError(400, "say whose memories are meant: ?user_id=…")
        if named == PERSONAS and self.role is not Role.ADMIN:
            raise RequestError(403, "what personas are themselves belongs to admins")
        return check_sent_id(named)


class Whose(NamedTuple):
    """A user and a persona; the persona is `None` if the request names no persona."""

    user_id: str
    agent_id: str | None


UserId = Annotated[
    str | None,
    Query(
        max_length=MAX_ID_LENGTH,
        description="Whose memories are meant; may be left out with a token of that user.",
        examples=["ann"],
    ),
]
AgentId = Annotated[
    str | None,
    Query(
        max_length=MAX_ID_LENGTH,
        description="The persona; a token of a persona names it already.",
        examples=["luna"],
    ),
]


def access_of(request: Request) -> Access:
    """Return the rights of the caller of a request, as `guard` found them."""
    return cast(Access, request.state.access)


def memory_of(request: Request) -> Souffleur:
    """Return the memory that the app serves."""
    return cast(Souffleur, request.app.state.memory)


def tokens_of(request: Request) -> TokenFile | None:
    """Return the tokens of the server; `None` for a socket that only the owner can open."""
    return cast(TokenFile | None, request.app.state.tokens)


def check_model(memory: Souffleur) -> None:
    """Raise RequestError (503) if the server has no model."""
    if not memory.has_model:
        raise RequestError(503, "no model is configured: set SOUFFLEUR_BASE_URL of the server")


def check_method(request: Request) -> None:
    """Raise RequestError (403) if the caller may not call the method of the route."""
    caller: Access | None = request.state.access
    if caller is not None:  # `None` for an open path
        caller.need(request.scope["route"].name)


Caller = Annotated[Access, Depends(access_of)]
Memory = Annotated[Souffleur, Depends(memory_of)]
Tokens = Annotated[TokenFile | None, Depends(tokens_of)]


def _owner(caller: Caller, user_id: UserId = None) -> str:
    return caller.user(user_id)


def _talker(caller: Caller, user_id: UserId = None, agent_id: AgentId = None) -> Whose:
    user, agent = caller.talk(user_id, agent_id)
    return Whose(user, check_sent_id(agent, "agent_id") if agent is not None else None)


def _owner_or_all(caller: Caller, user_id: UserId = None) -> str | None:
    return None if caller.role is Role.ADMIN and user_id is None else caller.user(user_id)


def _talker_or_all(
    caller: Caller, user_id: UserId = None, agent_id: AgentId = None
) -> Whose | None:
    everybody = caller.role is Role.ADMIN and user_id is None
    return None if everybody else _talker(caller, user_id, agent_id)


Owner = Annotated[str, Depends(_owner)]
"""The id of the user of a request; allowed for that user and admins."""
OwnerOrAll = Annotated[str | None, Depends(_owner_or_all)]
"""As `Owner`; `None` means all users, for an admin who names no user."""
Talker = Annotated[Whose, Depends(_talker)]
"""The user and the persona of a talk; allowed for that user, that persona and admins."""
TalkerOrAll = Annotated[Whose | None, Depends(_talker_or_all)]
"""As `Talker`; `None` means all users, for an admin who names no user."""
