"""The settings that `Souffleur.open` takes by name, for editors and type checkers.

`souffleur.settings` explains each; a test keeps both the same.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypedDict

from pydantic import SecretStr

from souffleur.settings import WhisperBudget


class Overrides(TypedDict, total=False):
    """Settings by name; `embedder` is an argument of its own."""

    path: str | Path
    qdrant_url: str | None
    qdrant_api_key: str | SecretStr | None
    qdrant_prefix: str
    judge: bool
    lease_seconds: float
    durability: Literal["process", "power"]
    base_url: str | None
    api_key: str | SecretStr | None
    openai_api_key: str | SecretStr | None
    model: str
    timeout: float
    temperature: float | None
    max_tokens: int
    extra_body: dict[str, Any] | None
    answer_form: Literal["json_schema", "json_object", "text"]
    price_in: float
    price_out: float
    reembed: bool
    embedder_base_url: str | None
    embedder_api_key: str | SecretStr | None
    policy: str
    user_title: str
    assistant_name: str
    timezone: str
    language: Literal["en", "zh", "ja"] | None
    redact: Sequence[str] | str
    refuse: Sequence[str] | str
    auto_extract: bool
    judge_every: int
    turns_per_call: int
    window: int
    idle_minutes: float
    raw_days: int | None
    whisper: WhisperBudget | Mapping[str, Any]
    recall_timeout: float
    show_references: bool
    tries: int
    retry_pause: float
    parallel_users: int
    calls_per_day: int | None
    dollars_per_day: float | None
    user_calls_per_day: int | None
    user_dollars_per_day: float | None
    schedule: bool
    mirror: str | Path | None
    shutdown_timeout: float
    metrics: bool | int
    traces: Literal["off", "on", "content"]
    max_import: int
    upstream_url: str | None
    upstream_api_key: str | SecretStr | None
    proxy_user: str | None
    upstream_judges: bool | None
    proxy_notes: Literal["off", "append", "event"]
    tokens: str | Path | None
    cors_origins: str | None
    max_body: int
    rate_limit: int
