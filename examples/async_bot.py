# A chatbot in the terminal that remembers you, with asyncio and any OpenAI-compatible endpoint.
# Run: set SOUFFLEUR_BASE_URL and SOUFFLEUR_MODEL, then `python examples/async_bot.py`.
import asyncio
import os

from openai import AsyncOpenAI

from souffleur import Souffleur

PERSONA = "You are Mo, a cheerful barista. Answer in a sentence or two.\n\n"


async def main() -> None:
    url, key = os.environ["SOUFFLEUR_BASE_URL"], os.environ.get("SOUFFLEUR_API_KEY", "none")
    messages = []
    async with (
        Souffleur.open(schedule=True) as memory,
        AsyncOpenAI(base_url=url, api_key=key) as ai,
    ):
        while said := (await asyncio.to_thread(input, "you: ")).strip():
            whisper = await memory.recall(user_id="me", session_id="terminal", text=said)
            messages.append({"role": "user", "content": said})
            answer = await ai.chat.completions.create(
                model=os.environ["SOUFFLEUR_MODEL"],
                messages=[{"role": "system", "content": PERSONA + whisper.text}, *messages[-20:]],
            )
            reply = answer.choices[0].message.content or ""
            messages.append({"role": "assistant", "content": reply})
            print(f"mo: {reply}")
            memory.observe(user_id="me", session_id="terminal", user=said, assistant=reply)


if __name__ == "__main__":
    asyncio.run(main())
