"""Settings: one frozen object, made from SOUFFLEUR_… variables at the edge and passed in."""

import json
import logging
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator
from pydantic.fields import FieldInfo

from souffleur.agents.model.address import check_extra_body, parse_object
from souffleur.errors import SettingsError
from souffleur.knowledge.privacy.addresses import bare_address, host_of
from souffleur.knowledge.privacy.groups import Group

if TYPE_CHECKING:
    from souffleur.knowledge.session import WindowRule
    from souffleur.knowledge.store.reading import Location


# Modules that only some settings need are loaded later, so that `souffleur config` is quick.

OPENAI_URL = "https://api.openai.com/v1"
ENV_PREFIX = "SOUFFLEUR_"
_TEST_PREFIX = f"{ENV_PREFIX}TEST_"

NO_MODEL = (
    "no model is configured: set SOUFFLEUR_BASE_URL (any OpenAI-compatible endpoint); for OpenAI's "
    "own, both OPENAI_API_KEY and SOUFFLEUR_MODEL"
)

_COMMAND_VARIABLES = frozenset({"SOUFFLEUR_USER"})
"""Variables that are options of commands, not settings."""

_GROUPS = {"secrets": Group.SECRET, "documents": Group.DOCUMENT, "contacts": Group.CONTACT}

_URL_FIELDS = frozenset({"base_url", "embedder_base_url", "qdrant_url", "upstream_url"})


class WhisperBudget(BaseModel):
    """How much the whispered block may hold, headings included."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tokens: int = Field(default=2000, ge=0)
    """Maximum tokens of the block. While all that is known fits, all of it is there."""
    past: int = Field(default=3000, ge=0)
    """Maximum tokens that a question adds: up to half for the rest of what is known, then words."""
    talks: int = Field(default=2, ge=0)
    """Number of the latest talks that are told in a line each."""


class ServeSettings(BaseModel):
    """Settings of `souffleur serve`; each has a variable of its own, too."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    upstream_url: str | None = None
    """URL of the model's endpoint that front ends talk with, through `souffleur serve`."""
    upstream_api_key: SecretStr | None = None
    """API key of that endpoint, in place of what clients send. `None` means that theirs is sent."""
    proxy_user: str | None = "me"
    """The user of a front end's request that names none. `None` means that it is refused."""
    upstream_judges: bool | None = None
    """Whether that endpoint also judges, if no other model is configured. `None` means only if it
    is on this machine or in a private network, where it costs nothing."""
    proxy_notes: Literal["off", "append", "event"] = "off"
    """Whether the proxy shows what a reply rests on and what was remembered: at the end of the
    reply, or as a comment in its stream."""
    tokens: Path | None = None
    """File with the tokens of `souffleur serve`. `None` means `tokens.json` in `path`."""
    cors_origins: str | None = None
    """Origins of web pages that may call `souffleur serve`, separated by commas; `*` means all."""
    max_body: int = Field(default=1 << 20, ge=1024)
    """Maximum bytes of the body of a request to `souffleur serve`."""
    rate_limit: int = Field(default=1200, ge=0)
    """Requests per minute that `souffleur serve` takes from one token, or from one address if it
    needs none. 0 means any number."""

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        """Yield the fields that `repr` shows: see `shown_value`."""
        return _shown(super().__repr_args__())


class Settings(BaseModel):
    """All settings. Each field is also read from SOUFFLEUR_<NAME> by `load_settings`.

    The constructor reads only its arguments, not the environment.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: Path = Path("~/.souffleur")
    """Folder of the embedded store."""
    qdrant_url: str | None = None
    """URL of a Qdrant server to use instead of `path`, to share memories between processes."""
    qdrant_api_key: SecretStr | None = None
    """API key of the Qdrant server."""
    qdrant_prefix: str = Field(default="", pattern=r"^[A-Za-z0-9._-]{0,200}$")
    """How the names of this store's collections begin, so that several stores share a server."""
    judge: bool = True
    """Whether this process judges turns. If `False`, it records and recalls only, and others at the
    same Qdrant server judge: see `souffleur worker`."""
    lease_seconds: float = Field(default=30.0, ge=1)
    """Seconds after which the users of a process that died are judged by another one, on a Qdrant
    server. The same for all processes, whose clocks must agree to a few seconds."""
    durability: Literal["process", "power"] = "process"
    """What a finished write survives: `kill -9` (a power cut loses a second), or a power cut."""

    base_url: str | None = None
    """URL of an OpenAI-compatible endpoint. `None` means OpenAI's, see `has_model`."""
    api_key: SecretStr | None = None
    """API key of the model's endpoint; sent to no other host."""
    openai_api_key: SecretStr | None = None
    """The value of OPENAI_API_KEY; sent to OpenAI's host only. Alone it configures no model."""
    model: str = "gpt-4.1-mini"
    """Name of the model."""
    timeout: float = Field(default=60.0, gt=0)
    """Seconds that one call of the model may take."""
    temperature: float | None = 0.0
    """Sampling temperature. `None` means that it is not sent, for models that accept none."""
    max_tokens: int = Field(default=2000, ge=100)
    """Maximum tokens of one answer."""
    extra_body: dict[str, Any] | None = None
    """Fields of the endpoint's own that go with each request of the model, as a JSON object, such
    as {"think": false}. What Souffleur sends itself is refused here."""
    answer_form: Literal["json_schema", "json_object", "text"] = "json_schema"
    """The answer format to try first; weaker ones follow if the endpoint refuses it."""
    price_in: float = Field(default=0.0, ge=0)
    """Dollars per million prompt tokens, to compute costs."""
    price_out: float = Field(default=0.0, ge=0)
    """Dollars per million tokens of answers, to compute costs."""

    embedder: str = "hash:512"
    """The embedder: `openai:MODEL`, `fastembed:MODEL` or `hash:DIMENSION`."""
    reembed: bool = False
    """Whether a store that another embedder made is embedded anew when it is opened. Until that is
    done, memories are found by words."""
    embedder_base_url: str | None = None
    """URL of an `openai:` embedder. `None` means the same as `base_url`."""
    embedder_api_key: SecretStr | None = None
    """API key of the embedder. `None` means `api_key`, if both have the same host."""

    policy: str = "companion"
    """How memories fade: `companion`, `studio` or `everbot`."""
    user_title: str = "the user"
    """The user's display name in memories. This and the next three settings apply to users and
    personas without a value of their own from `introduce` or `introduce_persona`."""
    assistant_name: str = "the assistant"
    """The persona's display name in memories."""
    timezone: str = "UTC"
    """The user's time zone as an IANA name; it decides what "tomorrow" means."""
    language: Literal["en", "zh", "ja"] | None = None
    """Language of the whispered block, and of prompts that exist in it. `None` means as spoken."""
    redact: tuple[Literal["secrets", "documents", "contacts"], ...] = ("secrets", "documents")
    """Sensitive data that are masked before anything is stored: passwords, keys and codes; numbers
    of cards, accounts and documents of identity; telephone numbers and e-mail addresses."""
    refuse: tuple[Literal["secrets", "documents", "contacts", "special"], ...] = ()
    """Sensitive data that are stored as they were said, but kept out of memories and masked where
    they are found or shown. `special` is health, belief, politics and sex, as far as the model
    recognises them. What is in `redact` too is refused."""
    auto_extract: bool = True
    """If `False`, every change to memories by a model waits for the user's confirmation."""

    judge_every: int = Field(default=1, ge=0, le=20)
    """Number of turns of a session judged together. 0 means all, when the session ends."""
    turns_per_call: int = Field(default=10, ge=1, le=20)
    """Maximum turns of a session judged in one call, if so many wait; 5 while little waits. Not
    less than `judge_every`."""
    window: int = Field(default=30, ge=2)
    """Maximum messages of a session kept word for word; beyond, the oldest become an episode."""
    idle_minutes: float = Field(default=30.0, ge=0)
    """Minutes of silence that end a session. 0 means that only `end_session` ends it."""
    raw_days: int | None = None
    """Days for which raw turns are kept, 7 to 365. `None` means until they are erased, 0 until they
    are summarised."""

    whisper: WhisperBudget = WhisperBudget()
    """How long the whispered block may be; in the environment a JSON object of what differs, such
    as {"tokens": 4000}."""
    recall_timeout: float = Field(default=4.0, gt=0)
    """Seconds after which `recall` gives up, and says so in `Recall.error`. A quarter of them is
    for the embedder; after that, `recall` searches by words alone."""
    show_references: bool = False
    """Whether a recall says which memories it holds, unless the user has chosen otherwise."""

    tries: int = Field(default=3, ge=1)
    """Attempts to judge a turn before it is set aside as failed."""
    retry_pause: float = Field(default=2.0, ge=0)
    """Seconds before the second attempt; doubles with each further one."""
    parallel_users: int = Field(default=8, ge=1)
    """Maximum number of users whose turns are judged at the same time."""
    calls_per_day: int | None = Field(default=None, ge=1)
    """Maximum calls of the model on a day, for all users together; days begin at midnight UTC.
    Once a budget is used up, turns wait for the next day, and `recall` goes on."""
    dollars_per_day: float | None = Field(default=None, gt=0)
    """Maximum dollars on a day for all users together, as `price_in` and `price_out` say. What is
    under way when it is reached may exceed it."""
    user_calls_per_day: int | None = Field(default=None, ge=1)
    """Maximum calls of the model on a day for each user."""
    user_dollars_per_day: float | None = Field(default=None, gt=0)
    """Maximum dollars on a day for each user."""
    schedule: bool = False
    """Whether to run decay, reviews and the other jobs in the host; see `souffleur schedule`."""
    mirror: Path | None = None
    """A folder in which the memories of each user are kept as files to read and to edit, see
    running.md. `None` means none."""
    shutdown_timeout: float = Field(default=10.0, ge=0)
    """Seconds to stop in: `close` waits as long for turns that are being judged, a server first for
    requests that it answers."""

    metrics: bool | int = False
    """Whether to measure for Prometheus, with the extra `telemetry`: `souffleur serve` shows it.
    A number is a port of this machine's loopback where Prometheus finds them. Nothing is sent."""
    traces: Literal["off", "on", "content"] = "off"
    """Whether to write OpenTelemetry spans to the host's tracer provider; with `content`, they hold
    what was said: messages, whispers, prompts and answers."""
    serve: ServeSettings = ServeSettings()
    """What only a server needs."""
    max_import: int = Field(default=256 << 20, ge=1024)
    """Maximum bytes of a file to import, unpacked; our own exports may have any size, unless they
    are sent to `souffleur serve`."""

    @field_validator("path", mode="before")
    @classmethod
    def _some_path(cls, path: Any) -> Any:
        if isinstance(path, str) and not path.strip():
            raise ValueError("must not be empty: name a folder, or do not set it")
        return path

    @field_validator("redact", "refuse", mode="before")
    @classmethod
    def _listed(cls, given: Any) -> Any:
        if isinstance(given, str):
            return () if given == "none" else tuple(part.strip() for part in given.split(","))
        return given

    @field_validator("whisper", mode="before")
    @classmethod
    def _parsed_whisper(cls, given: Any) -> Any:
        return parse_object(given, '{"tokens": 4000}') if isinstance(given, str) else given

    @field_validator("metrics")
    @classmethod
    def _some_port(cls, given: bool | int) -> bool | int:
        if given in (0, 1):
            return bool(given)
        if not 1 < given <= 65535:
            raise ValueError("must be true, false, or a port from 2 to 65535")
        return given

    @field_validator("extra_body", mode="before")
    @classmethod
    def _parsed_body(cls, given: Any) -> Any:
        return parse_object(given, '{"think": false}') if isinstance(given, str) else given

    @field_validator("extra_body")
    @classmethod
    def _bearable_body(cls, fields: dict[str, Any] | None) -> dict[str, Any] | None:
        check_extra_body(fields or {})
        return fields

    @field_validator("policy")
    @classmethod
    def _known_policy(cls, name: str) -> str:
        from souffleur.knowledge.policy import POLICIES

        if name not in POLICIES:
            raise ValueError(f"there is no policy {name!r}; choose one of {', '.join(POLICIES)}")
        return name

    @field_validator("raw_days")
    @classmethod
    def _some_days(cls, days: int | None) -> int | None:
        if days and not 7 <= days <= 365:
            raise ValueError("must be 7 to 365 days, none, or 0 to keep none after summarising")
        return days

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, name: str) -> str:
        from souffleur.knowledge.people import check_zone

        return check_zone(name)

    @property
    def has_model(self) -> bool:
        """Whether a model is configured: by `base_url`, `api_key`, or `model` with OpenAI's key.

        OPENAI_API_KEY alone does not configure one, so that no talk is sent unasked.
        """
        by_name = "model" in self.model_fields_set and self.openai_api_key
        return bool(self.base_url or self.api_key or by_name)

    @property
    def endpoint_url(self) -> str:
        """The URL of the model's endpoint."""
        return self.base_url or OPENAI_URL

    @property
    def embedder_url(self) -> str:
        """The URL of an `openai:` embedder."""
        return self.embedder_base_url or self.endpoint_url

    @property
    def endpoint_key(self) -> SecretStr | None:
        """The API key for the model."""
        return self.api_key or self._openai_key_for(self.endpoint_url)

    @property
    def embedder_key(self) -> SecretStr | None:
        """The API key for the embedder; the model's key only if both have the same host."""
        shared = host_of(self.embedder_url) == host_of(self.endpoint_url)
        own = self.embedder_api_key or (self.api_key if shared else None)
        return own or self._openai_key_for(self.embedder_url)

    def _openai_key_for(self, url: str) -> SecretStr | None:
        return self.openai_api_key if host_of(url) == host_of(OPENAI_URL) else None

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        """Yield the fields that `repr` shows: see `shown_value`."""
        return _shown(super().__repr_args__())

    @property
    def window_rule(self) -> "WindowRule":
        """The rule for when turns leave the window."""
        from souffleur.knowledge.session import WindowRule

        idle = timedelta(minutes=self.idle_minutes) if self.idle_minutes else None
        return WindowRule(size=self.window, keep=max(1, self.window // 3), idle=idle)

    @property
    def redacted(self) -> frozenset[Group]:
        """The groups of sensitive data that are masked before anything is stored."""
        return frozenset(_GROUPS[name] for name in self.redact if name not in self.refuse)

    @property
    def withheld(self) -> frozenset[Group]:
        """The groups of sensitive data that no memory may contain: redacted and refused groups."""
        named = {*self.redact, *self.refuse}
        return frozenset(group for name, group in _GROUPS.items() if name in named)

    @property
    def tokens_file(self) -> Path:
        """The file with the tokens of `souffleur serve`."""
        return (
            _at_home("tokens", self.serve.tokens)
            if self.serve.tokens
            else self.folder / "tokens.json"
        )

    @property
    def mirror_folder(self) -> Path | None:
        """`mirror` with ~ expanded."""
        return _at_home("mirror", self.mirror) if self.mirror else None

    @property
    def owner_socket(self) -> Path:
        """The socket on which `souffleur serve` listens for commands of this machine."""
        return self.folder / "owner.sock"

    @property
    def folder(self) -> Path:
        """`path` with ~ expanded. Raises SettingsError where there is no home folder."""
        return _at_home("path", self.path)


def all_fields() -> dict[str, FieldInfo]:
    """Return the field of each setting by its name; the settings of `serve` come last."""
    own = {name: field for name, field in Settings.model_fields.items() if name != "serve"}
    return {**own, **ServeSettings.model_fields}


def _at_home(name: str, path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError:
        raise SettingsError(
            f"{variable_of(name)} is {path}, and this user has no home folder: set it to a whole"
            " path, such as /data/souffleur"
        ) from None


def shown_value(name: str, value: Any) -> Any:
    """Return the value of a setting as it may be shown.

    URLs have no user name, password and query; secrets in `extra_body` are masked.

    >>> shown_value("base_url", "http://me:pass@localhost/v1"), shown_value("window", 30)
    ('http://localhost/v1', 30)
    """
    if name in _URL_FIELDS and isinstance(value, str):
        return bare_address(value)
    if name == "extra_body" and value:
        from souffleur.knowledge.privacy.secrets import mask  # the module takes long to load

        return mask(json.dumps(value, ensure_ascii=False))
    return value


def _shown(fields: Iterable[tuple[str | None, Any]]) -> Iterable[tuple[str | None, Any]]:
    return [(name, shown_value(name or "", value)) for name, value in fields]


def load_settings(**overrides: object) -> Settings:
    """Return the settings from the environment; `overrides` replace them.

    Logs a warning for a SOUFFLEUR_… variable that is not a setting. Raises SettingsError, which
    names each invalid variable and each unknown override.
    """
    for unknown in describe_unknown(os.environ):
        logging.getLogger("souffleur").warning("%s", unknown)
    return check_settings({**read_environment(), **overrides})


def read_environment() -> dict[str, str | None]:
    """Return the settings in the environment, not checked yet.

    Upper and lower case are the same; "none" is `None` if the setting may be `None`. An empty
    variable counts as not set, as compose makes variables that nobody set empty.
    """
    fields = {variable_of(name): name for name in all_fields()}
    given = {name.upper(): value for name, value in os.environ.items()}
    return {
        name: None if value.casefold() == "none" and _may_be_none(name) else value
        for variable, name in fields.items()
        if (value := given.get(variable))
    }


def _may_be_none(name: str) -> bool:
    return type(None) in get_args(all_fields()[name].annotation)


def change_settings(settings: Settings, **overrides: object) -> Settings:
    """Return the settings with `overrides` in place of their values; reads no environment.

    Raises SettingsError as `load_settings` does.
    """
    given = {name: getattr(settings, name) for name in settings.model_fields_set - {"serve"}}
    given |= {name: getattr(settings.serve, name) for name in settings.serve.model_fields_set}
    return check_settings({**given, **overrides})


def check_settings(fields: Mapping[str, Any]) -> Settings:
    """Return these settings, with defaults for all others; settings of `serve` have no prefix.

    Raises SettingsError.
    """
    known = all_fields()
    for name in fields.keys() - known.keys():
        raise SettingsError(f"there is no setting {name!r}{_meant(name, known)}")
    serve = {name: value for name, value in fields.items() if name in ServeSettings.model_fields}
    others = {name: value for name, value in fields.items() if name not in serve}
    try:
        return Settings(**others, **({"serve": serve} if serve else {}))
    except ValidationError as error:
        raise _wrong(error) from None


def _wrong(error: ValidationError) -> SettingsError:
    from souffleur.knowledge.store.reading import describe_faults

    return SettingsError(f"a setting cannot be right: {describe_faults(error, _name_of)}")


def describe_unknown(environment: Iterable[str]) -> list[str]:
    """Return a sentence for each SOUFFLEUR_… variable that is not a setting.

    >>> describe_unknown(["HOME", "SOUFFLEUR_USER", "SOUFFLEUR_WINDOWS"])
    ['no setting is SOUFFLEUR_WINDOWS: did you mean SOUFFLEUR_WINDOW?']
    """
    known = {variable_of(name) for name in all_fields()} | _COMMAND_VARIABLES
    ours = (name for name in environment if name.startswith(ENV_PREFIX))
    odd = (name for name in ours if name not in known and not name.startswith(_TEST_PREFIX))
    return [f"no setting is {name}{_meant(name, known)}" for name in odd]


def variable_of(name: str) -> str:
    """Return the environment variable of a setting.

    >>> variable_of("window"), variable_of("openai_api_key")
    ('SOUFFLEUR_WINDOW', 'OPENAI_API_KEY')
    """
    return name.upper() if name == "openai_api_key" else f"{ENV_PREFIX}{name.upper()}"


def _meant(name: str, known: Iterable[str]) -> str:
    """Return the suggestion of a similar name; empty if no name is similar."""
    near = get_close_matches(name, list(known), n=1)
    return f": did you mean {near[0]}?" if near else ""


def _name_of(path: "Location") -> str:
    """Return the variable of a field; empty if the error concerns several fields."""
    name, *within = [str(part) for part in path if part != "serve"] or [""]
    return ", ".join((variable_of(name), *within)) if name else ""


def default_settings() -> Settings:
    """Return the default settings; the environment is not read."""
    return Settings()


def need_model(settings: Settings) -> Settings:
    """Return the settings if a model is configured, else raise SettingsError."""
    if not settings.has_model:
        raise SettingsError(NO_MODEL)
    return settings


Source = Literal["argument", "environment", "default"]


@dataclass(frozen=True)
class SettingInForce:
    """A setting as it may be shown: secrets are masked."""

    name: str
    variable: str
    """The environment variable that sets it."""
    value: Any
    """A JSON value."""
    source: Source


@dataclass(frozen=True)
class SettingsInForce:
    """All settings, in the order of `Settings`."""

    settings: tuple[SettingInForce, ...]
    has_model: bool
    """Whether the settings configure a model."""
    unknown: tuple[str, ...]
    """A sentence for each SOUFFLEUR_… variable that is not a setting."""


def find_settings(**overrides: object) -> SettingsInForce:
    """Return the settings that `Souffleur.open(**overrides)` would use now.

    An argument replaces the environment, and the environment replaces the default. Raises
    SettingsError as `load_settings` does.
    """
    given = read_environment()
    settings = check_settings({**given, **overrides})
    values = settings.model_dump(mode="json")
    values |= values.pop("serve")

    def source(name: str) -> Source:
        if name in overrides:
            return "argument"
        return "environment" if name in given else "default"

    found = (
        SettingInForce(name, variable_of(name), shown_value(name, values[name]), source(name))
        for name in all_fields()
    )
    return SettingsInForce(tuple(found), settings.has_model, tuple(describe_unknown(os.environ)))
