"""Settings: one frozen object, made at the edge from SOUFFLEUR_… variables and passed in."""

from datetime import timedelta
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import (
    AliasChoices,
    Field,
    SecretStr,
    ValidationError,
    field_validator,
    model_validator,
)
from pydantic_settings import BaseSettings, SettingsConfigDict

from souffleur.errors import SettingsError
from souffleur.knowledge.policy import POLICIES
from souffleur.knowledge.session import WindowRule


class Settings(BaseSettings):
    """All that can be set. Each field is also SOUFFLEUR_<NAME> in the environment."""

    model_config = SettingsConfigDict(
        env_prefix="SOUFFLEUR_", frozen=True, extra="ignore", populate_by_name=True
    )

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
    """Any OpenAI-compatible endpoint; None: OpenAI's own."""
    api_key: SecretStr | None = Field(
        default=None, validation_alias=AliasChoices("SOUFFLEUR_API_KEY", "OPENAI_API_KEY")
    )
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
    """openai:MODEL, fastembed:MODEL, minilm or hash:DIMENSION."""
    embedder_base_url: str | None = None
    """None: as `base_url`."""
    embedder_api_key: SecretStr | None = None

    policy: str = "companion"
    """How memories fade: companion, studio or everbot."""
    user_title: str = "the user"
    """How the user is called in memories."""
    assistant_name: str = "the assistant"
    timezone: str = "UTC"
    """IANA name; what "tomorrow" means depends on it."""
    language: Literal["en", "zh"] | None = None
    """Of the prompts; None: what is spoken."""
    auto_extract: bool = True
    """False: what the monitor proposes waits for the user's yes."""

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

    recall_limit: int = Field(default=6, ge=0)
    """Memories a message may call up, besides the core."""
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
    """A tokenizer file of the companion's model; None: by the model's name, or an estimate."""
    resident: int = Field(default=3, ge=0)
    """The most important facts accompany every message, called for or not; so do three plans whose
    day is near."""
    tries: int = Field(default=3, ge=1)
    """Judgements tried before a turn is set aside as failed."""
    retry_pause: float = Field(default=2.0, ge=0)
    """Seconds before the second try; doubles from there."""
    parallel_users: int = Field(default=8, ge=1)
    schedule: bool = False
    """Run reviews, decay and the other jobs inside the host, as `souffleur schedule` does alone."""
    drain: float = Field(default=10.0, ge=0)
    """Seconds `close` waits for turns that are being judged."""

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
        try:
            ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError) as error:
            raise ValueError(
                f"there is no time zone {name!r}; use a name such as Asia/Tokyo"
            ) from error
        return name

    @property
    def has_model(self) -> bool:
        """Whether there is an endpoint to ask: its address, or a key for OpenAI's own."""
        return bool(self.base_url or self.api_key)

    @property
    def window_rule(self) -> WindowRule:
        """When talk leaves the window."""
        idle = timedelta(minutes=self.idle_minutes) if self.idle_minutes else None
        return WindowRule(size=self.window, keep=self.window_keep, idle=idle)

    @property
    def folder(self) -> Path:
        """`path`, with ~ resolved."""
        return self.path.expanduser()


def load_settings(**overrides: object) -> Settings:
    """Settings from the environment; SettingsError names each variable that cannot be right."""
    try:
        return Settings(**{key: value for key, value in overrides.items() if value is not None})  # type: ignore[arg-type]
    except ValidationError as error:
        wrong = "; ".join(
            _name_of(item["loc"]) + item["msg"].removeprefix("Value error, ")
            for item in error.errors()
        )
        raise SettingsError(f"a setting cannot be right: {wrong}") from error


def _name_of(place: tuple[int | str, ...]) -> str:
    """The variable of a field, and a colon; empty where more than one is concerned."""
    name = "_".join(map(str, place)).upper().removeprefix("SOUFFLEUR_")
    return f"SOUFFLEUR_{name}: " if name else ""


def default_settings() -> Settings:
    """The defaults, whatever the environment says."""
    return Settings(**{name: field.default for name, field in Settings.model_fields.items()})


def need_model(settings: Settings) -> Settings:
    """The settings, where they name a model; SettingsError where they do not."""
    if not settings.has_model:
        raise SettingsError(
            "no model is configured: set SOUFFLEUR_BASE_URL (any OpenAI-compatible endpoint), or "
            "SOUFFLEUR_API_KEY for OpenAI's own"
        )
    return settings
