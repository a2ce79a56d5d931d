"""Hand-written cases: reading their YAML files, and the memories in them."""

from datetime import date, datetime, time
from pathlib import Path
from typing import Any, TypeVar
from zoneinfo import ZoneInfo

import yaml
from pydantic import Field, ValidationError

from souffleur.errors import InputError
from souffleur.evals.fixture import stored_memory
from souffleur.evals.script import Known
from souffleur.knowledge import decay
from souffleur.knowledge.memory import Category, Frozen, Kind, Memory
from souffleur.knowledge.operation import Importance
from souffleur.knowledge.policy import Policy

F = TypeVar("F", bound=Frozen)

USER = "user"
"""The id of the user of each case."""


class WrittenMemory(Frozen):
    """A memory of the user, as it stands in a file."""

    id: str
    """Its name within the file."""
    content: str = Field(min_length=1)
    kind: Kind
    importance: Importance = Importance.MEDIUM
    until: date | None = None
    """The day on which it ends or happens, if there is one."""
    core: bool = False

    def stored(self, id: str, at: datetime, zone: ZoneInfo, policy: Policy) -> Memory:
        """Return the memory as it would lie in the store, had it been learnt at a moment."""
        end = datetime.combine(self.until, time(), zone) if self.until else None
        value = decay.initial_importance(self.kind, self.importance, policy)
        known = Known(
            content=self.content,
            kind=self.kind,
            category=Category.CORE if self.core else None,
            at=at,
            value=max(value, policy.core_value) if self.core else value,
            expires_at=decay.plan_expiry(end) if end else None,
        )
        return stored_memory(known, policy, id=id, user_id=USER)


def read_yaml(path: Path, form: type[F], **more: Any) -> F:
    """Return what a YAML file holds, with `more` fields. InputError says where it is wrong."""
    try:
        raw: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
        return form.model_validate({**raw, **more})
    except (OSError, UnicodeError, TypeError, yaml.YAMLError) as error:
        raise InputError(f"{path} holds no {form.__name__}: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise InputError(
            f"{path}, at {where}: {first['msg']}".replace("Value error, ", "")
        ) from error
