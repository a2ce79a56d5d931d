# A Gradio page with a chatbot that remembers: a host without an event loop of its own.
# Run: `pip install gradio`, set SOUFFLEUR_BASE_URL and SOUFFLEUR_MODEL, then start this file.
import os

from openai import OpenAI

from souffleur import BlockingSouffleur

PERSONA = "You are Mo, a cheerful barista. Answer in a sentence or two.\n\n"


class Bot:
    def __init__(self, memory: BlockingSouffleur) -> None:
        url, key = os.environ["SOUFFLEUR_BASE_URL"], os.environ.get("SOUFFLEUR_API_KEY", "none")
        self.memory, self.ai = memory, OpenAI(base_url=url, api_key=key)

    def reply(self, said: str, history: list[dict[str, str]], user: str = "me") -> str:
        whisper = self.memory.recall(user_id=user, session_id="page", text=said)
        before = [{"role": one["role"], "content": one["content"]} for one in history[-20:]]
        answer = self.ai.chat.completions.create(
            model=os.environ["SOUFFLEUR_MODEL"],
            messages=[
                {"role": "system", "content": PERSONA + whisper.text},
                *before,
                {"role": "user", "content": said},
            ],
        )
        words = answer.choices[0].message.content or ""
        self.memory.observe(
            user_id=user, session_id="page", user=said, assistant=words, whisper=whisper
        )
        return words


if __name__ == "__main__":
    import gradio

    with BlockingSouffleur.open(schedule=True) as memory:
        gradio.ChatInterface(Bot(memory).reply).launch()
