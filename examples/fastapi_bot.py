# A web service with a chatbot that remembers each of its users; replies are streamed.
# Run: set SOUFFLEUR_BASE_URL and SOUFFLEUR_MODEL, then `uvicorn examples.fastapi_bot:app`.
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from openai import AsyncOpenAI
from pydantic import BaseModel

from souffleur import Souffleur

PERSONA = "You are Mo, a cheerful barista. Answer in a sentence or two.\n\n"


class Message(BaseModel):
    user_id: str  # in earnest, from your login, never from the message itself
    session_id: str
    text: str


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    url, key = os.environ["SOUFFLEUR_BASE_URL"], os.environ.get("SOUFFLEUR_API_KEY", "none")
    async with (
        Souffleur.open(schedule=True) as memory,
        AsyncOpenAI(base_url=url, api_key=key) as ai,
    ):
        app.state.memory, app.state.ai = memory, ai
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/chat")
async def chat(message: Message) -> StreamingResponse:
    memory, ids = app.state.memory, message.model_dump(include={"user_id", "session_id"})
    whisper = await memory.recall(**ids, text=message.text)
    stream = await app.state.ai.chat.completions.create(
        model=os.environ["SOUFFLEUR_MODEL"],
        messages=[
            {"role": "system", "content": PERSONA + whisper.text},
            {"role": "user", "content": message.text},
        ],
        stream=True,
    )

    async def reply() -> AsyncIterator[str]:
        said = ""
        try:
            async for chunk in stream:
                if chunk.choices and (words := chunk.choices[0].delta.content):
                    said += words
                    yield words
        finally:  # also when the user has closed the page
            memory.observe(**ids, user=message.text, assistant=said, whisper=whisper)

    return StreamingResponse(reply(), media_type="text/plain")
