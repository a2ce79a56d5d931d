"""Settings: one frozen object, made at the edge from SOUFFLEUR_… variables and passed in."""

import logging
import os
from collections.abc import Iterable
from datetime import timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, SettingsConfigDict

from souffleur.errors import SettingsError
from souffleur.knowledge.people import check_zone
from souffleur.knowledge.policy import POLICIES
from souffleur.knowledge.privacy.addresses import bare_address, host_of
from souffleur.knowledge.reading import Location, describe_faults
from souffleur.knowledge.talk.session import WindowRule

OPENAI_URL = "https://api.openai.com/v1"
ENV_PREFIX = "SOUFFLEUR_"

_COMMAND_VARIABLES = frozenset({"SOUFFLEUR_USER"})
"""Variables that are options of commands, and no settings."""
_URL_FIELDS = frozenset({"base_url", "embedder_base_url", "qdrant_url"})


class Settings(BaseModel):
    """All that can be set. Each field is also SOUFFLEUR_<NAME> in the environment.

    Made by itself it reads nothing but its arguments; `load_settings` reads the environment.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: Path = Path("~/.souffleur")
    """Folder of the embedded store."""
    qdrant_url: str | None = None
    """A Qdrant server instead, for memories shared by several processes or machines."""
    qdrant_api_key: SecretStr | None = None
    shards: int = Field(default=1, ge=1)
    replicas: int = Field(default=1, ge=1)
    durability: Literal["process", "power"] = "process"
    """What a finished write survives: kill -9 (a second's loss on a power cut), or a power cut."""

    base_url: str | None = None
    """Any OpenAI-compatible endpoint; None means OpenAI's own, if `api_key` or `model` is set."""
    api_key: SecretStr | None = None
    """Of that endpoint, and sent to no other host."""
    openai_api_key: SecretStr | None = None
    """From OPENAI_API_KEY. Sent to OpenAI's own host only; by itself it configures no model."""
    model: str = "gpt-4.1-mini"
    timeout: float = Field(default=60.0, gt=0)
    """Seconds one call of the model may take."""
    temperature: float | None = 0.0
    """None: not sent, for models that take none."""
    max_tokens: int = Field(default=2000, ge=100)
    answer_form: Literal["json_schema", "json_object", "text"] = "json_schema"
    """Where the ladder of answer formats starts."""
    price_in: float = Field(default=0.0, ge=0)
    """Dollars per million prompt tokens, for the cost shown."""
    price_out: float = Field(default=0.0, ge=0)

    embedder: str = "hash:512"
    """openai:MODEL, fastembed:MODEL or hash:DIMENSION."""
    embedder_base_url: str | None = None
    """None means as `base_url`."""
    embedder_api_key: SecretStr | None = None

    policy: str = "companion"
    """How memories fade: companion, studio or everbot."""
    user_title: str = "the user"
    """How the user is called in memories; `introduce` gives each user a title, and so on, of its
    own, and these are for the others."""
    assistant_name: str = "the assistant"
    timezone: str = "UTC"
    """IANA name; what "tomorrow" means depends on it."""
    language: Literal["en", "zh", "ja"] | None = None
    """Of what is whispered, and of the prompts if they are written in it; None: what is spoken."""
    auto_extract: bool = True
    """If False, every change to memories that a model proposes waits for the user's yes."""

    judge_every: int = Field(default=1, ge=0, le=20)
    """Turns of a session judged together; 0: when the session ends."""
    window: int = Field(default=30, ge=2)
    """Messages of a session held word for word; beyond, the oldest become an episode …"""
    window_keep: int = Field(default=10, ge=1)
    """… and these stay."""
    idle_minutes: float = Field(default=30.0, ge=0)
    """Silence that ends a session; 0: only `end_session` does."""
    raw_days: int = Field(default=30)
    """Days that raw words are kept, 7 to 365; 0: until they are summarised."""

    recall_limit: int = Field(default=12, ge=0)
    """Memories a message may call up, besides the core, within the budget `related_tokens`."""
    recall_unasked: int = Field(default=12, ge=0)
    """Memories that may go with a message unasked: plans that fall due, circumstances in force,
    what matters most; as far as the same budget leaves room."""
    recall_timeout: float = Field(default=1.0, gt=0)
    """Seconds that an embedder may keep `recall` waiting; after that, words alone find memories."""
    recall_episodes: int = Field(default=5, ge=0)
    """The latest episodes accompany every message."""
    core_tokens: int = Field(default=200, ge=0)
    """Budget of the core in the whispered block; likewise the other parts below."""
    portrait_tokens: int = Field(default=500, ge=0)
    episode_tokens: int = Field(default=800, ge=0)
    related_tokens: int = Field(default=400, ge=0)
    """What the message calls for, and what accompanies it."""
    past_tokens: int = Field(default=1500, ge=0)
    """What a question about the past asks for."""
    whisper_style: Literal["plain", "grouped"] = "plain"
    """Memories as one list, or under headings by kind."""
    tokenizer: Path | None = None
    """The tokenizer.json of the companion's model; None: tiktoken's, if at hand, or an estimate."""
    tries: int = Field(default=3, ge=1)
    """Judgements tried before a turn is set aside as failed."""
    retry_pause: float = Field(default=2.0, ge=0)
    """Seconds before the second try; doubles from there."""
    parallel_users: int = Field(default=8, ge=1)
    schedule: bool = False
    """Run reviews, decay and the other jobs inside the host, as `souffleur schedule` does alone."""
    shutdown_timeout: float = Field(default=10.0, ge=0)
    """Seconds `close` waits for turns that are being judged."""

    @field_validator("path", mode="before")
    @classmethod
    def _some_path(cls, path: Any) -> Any:
        if isinstance(path, str) and not path.strip():
            raise ValueError("must not be empty: name a folder, or do not set it")
        return path

    @field_validator("policy")
    @classmethod
    def _known_policy(cls, name: str) -> str:
        if name not in POLICIES:
            raise ValueError(f"there is no policy {name!r}; choose one of {', '.join(POLICIES)}")
        return name

    @field_validator("raw_days")
    @classmethod
    def _some_days(cls, days: int) -> int:
        if days and not 7 <= days <= 365:
            raise ValueError("must be 7 to 365 days, or 0 to keep none after summarising")
        return days

    @model_validator(mode="after")
    def _keeps_less_than_it_holds(self) -> "Settings":
        if self.window_keep >= self.window:
            raise ValueError("SOUFFLEUR_WINDOW_KEEP must be less than SOUFFLEUR_WINDOW")
        return self

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, name: str) -> str:
        return check_zone(name)

    @property
    def has_model(self) -> bool:
        """Whether a model was named: by address, by a key of its own, or by name beside OpenAI's
        key. OPENAI_API_KEY alone sends no talk to anybody.
        """
        by_name = "model" in self.model_fields_set and self.openai_api_key
        return bool(self.base_url or self.api_key or by_name)

    @property
    def endpoint_url(self) -> str:
        """The address of the model."""
        return self.base_url or OPENAI_URL

    @property
    def embedder_url(self) -> str:
        """The address of an `openai:` embedder."""
        return self.embedder_base_url or self.endpoint_url

    @property
    def endpoint_key(self) -> SecretStr | None:
        """The key for the model."""
        return self.api_key or self._openai_key_for(self.endpoint_url)

    @property
    def embedder_key(self) -> SecretStr | None:
        """The key for the embedder: the model's only if both have the same host."""
        shared = host_of(self.embedder_url) == host_of(self.endpoint_url)
        own = self.embedder_api_key or (self.api_key if shared else None)
        return own or self._openai_key_for(self.embedder_url)

    def _openai_key_for(self, url: str) -> SecretStr | None:
        return self.openai_api_key if host_of(url) == host_of(OPENAI_URL) else None

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        """Yield what `repr` shows: of addresses, neither user name nor password nor query."""
        for name, value in super().__repr_args__():
            shown = bare_address(value) if name in _URL_FIELDS and isinstance(value, str) else value
            yield name, shown

    @property
    def window_rule(self) -> WindowRule:
        """When talk leaves the window."""
        idle = timedelta(minutes=self.idle_minutes) if self.idle_minutes else None
        return WindowRule(size=self.window, keep=self.window_keep, idle=idle)

    @property
    def folder(self) -> Path:
        """`path`, with ~ resolved."""
        return self.path.expanduser()


class _Environment(BaseSettings, Settings):
    """The settings that the environment names."""

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX, frozen=True, extra="ignore", env_parse_none_str="none"
    )

    openai_api_key: SecretStr | None = Field(default=None, validation_alias="OPENAI_API_KEY")


def load_settings(**overrides: object) -> Settings:
    """Return the settings from the environment, with others by name in their place.

    Raises SettingsError, which names each variable that cannot be right and each name that is
    none. A variable that looks like a setting and is none is warned of.
    """
    _warn_of_unknown(os.environ)
    try:
        found = _Environment()
    except ValidationError as error:
        raise _wrong(error) from None
    given = {name: getattr(found, name) for name in found.model_fields_set}
    return _checked({**given, **overrides})


def change_settings(settings: Settings, **overrides: object) -> Settings:
    """Return the settings with others by name in their place; the environment is not read.

    Raises SettingsError as `load_settings` does.
    """
    given = {name: getattr(settings, name) for name in settings.model_fields_set}
    return _checked({**given, **overrides})


def _checked(fields: dict[str, Any]) -> Settings:
    for name in fields.keys() - Settings.model_fields.keys():
        raise SettingsError(f"there is no setting {name!r}{_meant(name, Settings.model_fields)}")
    try:
        return Settings(**fields)
    except ValidationError as error:
        raise _wrong(error) from None


def _wrong(error: ValidationError) -> SettingsError:
    return SettingsError(f"a setting cannot be right: {describe_faults(error, _name_of)}")


def _warn_of_unknown(environment: Iterable[str]) -> None:
    known = {f"{ENV_PREFIX}{name.upper()}" for name in Settings.model_fields} | _COMMAND_VARIABLES
    for name in environment:
        ours = name.startswith(ENV_PREFIX) and not name.startswith(f"{ENV_PREFIX}TEST_")
        if ours and name not in known:
            logging.getLogger("souffleur").warning("no setting is %s%s", name, _meant(name, known))


def _meant(name: str, known: Iterable[str]) -> str:
    """Return a question after the name that was meant; empty if none is near."""
    near = get_close_matches(name, list(known), n=1)
    return f": did you mean {near[0]}?" if near else ""


def _name_of(path: Location) -> str:
    """Return the variable of a field; empty if the fault is in several."""
    name = "_".join(map(str, path)).upper().removeprefix(ENV_PREFIX)
    prefix = "" if name == "OPENAI_API_KEY" else ENV_PREFIX
    return f"{prefix}{name}" if name else ""


def default_settings() -> Settings:
    """Return the defaults, whatever the environment says."""
    return Settings()


def need_model(settings: Settings) -> Settings:
    """Return the settings if they name a model. Raises SettingsError if they do not."""
    if not settings.has_model:
        raise SettingsError(
            "no model is configured: set SOUFFLEUR_BASE_URL (any OpenAI-compatible endpoint), or "
            "SOUFFLEUR_API_KEY for OpenAI's own"
        )
    return settings
