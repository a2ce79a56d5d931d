"""
title: Souffleur
description: A memory for each user, from a `souffleur serve` that this server can reach.
version: 0.1.0
"""

# A filter for Open WebUI that whispers what is remembered, and stores what was said.
# Run: `souffleur serve` and `souffleur token --admin`; paste this under Functions, set its valves.
import asyncio
import json
import re
from typing import Any
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from pydantic import BaseModel, Field

HIDDEN = re.compile(r"<details type=.*?</details>", re.DOTALL)
"""What Open WebUI shows folded in a reply: thoughts, calls of tools."""


class Filter:
    class Valves(BaseModel):
        url: str = Field("http://localhost:8321", description="Address of `souffleur serve`.")
        token: str = Field("", description="A token of `souffleur token --admin`.")
        persona: str = Field("default", description="The id of the persona that replies.")
        seconds: float = Field(2.0, description="How long a reply may wait for the memory.")

    def __init__(self) -> None:
        self.valves = self.Valves()
        self._whispers: dict[str, list[str]] = {}

    async def inlet(
        self, body: dict[str, Any], __user__: dict[str, Any], __metadata__: dict[str, Any]
    ) -> dict[str, Any]:
        if __metadata__.get("task"):  # a title, tags: nobody says that
            return body
        chat, messages = __metadata__.get("chat_id") or "default", body["messages"]
        said = next((one for one in reversed(messages) if one["role"] == "user"), None)
        asked = {"text": said and said["content"], "session_id": chat}
        found = await self._post("/api/recall", __user__, asked)
        self._whispers[chat] = found.get("judgeable_ids", [])
        if text := found.get("text"):
            system = next((one for one in messages if one["role"] == "system"), None)
            if system is None:
                messages.insert(0, {"role": "system", "content": text})
            else:
                system["content"] = f"{system['content']}\n\n{text}"
        return body

    async def outlet(
        self, body: dict[str, Any], __user__: dict[str, Any], __metadata__: dict[str, Any]
    ) -> dict[str, Any]:
        messages = body["messages"]
        at = max((i for i, one in enumerate(messages) if one["role"] == "user"), default=None)
        if at is None or __metadata__.get("task"):
            return body
        chat = body.get("chat_id") or __metadata__.get("chat_id") or "default"
        replies = [one["content"] for one in messages[at + 1 :] if one["role"] == "assistant"]
        turn = {
            "session_id": chat,
            "turn_id": messages[at].get("id"),  # made again, a reply replaces the first
            "user": messages[at]["content"],
            "assistant": HIDDEN.sub("", "\n".join(replies)).strip(),
            "whisper": self._whispers.pop(chat, None),
        }
        await self._post("/api/turns", __user__, turn)
        return body

    async def _post(self, path: str, user: dict[str, Any], body: dict[str, Any]) -> dict[str, Any]:
        """Ask the memory; whatever goes wrong costs no reply."""
        ids = urlencode({"user_id": user["id"], "agent_id": self.valves.persona})
        headers = {"content-type": "application/json"}
        if self.valves.token:
            headers["authorization"] = f"Bearer {self.valves.token}"
        request = Request(f"{self.valves.url}{path}?{ids}", json.dumps(body).encode(), headers)

        def ask() -> dict[str, Any]:
            with urlopen(request, timeout=self.valves.seconds) as answer:
                return dict(json.load(answer))

        try:
            return await asyncio.to_thread(ask)
        except (OSError, ValueError) as error:
            print(f"souffleur: {error}")
            return {}
