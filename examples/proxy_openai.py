# Any program that uses the openai client gets a memory by changing the address: no code of ours.
# Run: `souffleur serve --upstream http://localhost:11434/v1`, then start this with SOUFFLEUR_MODEL.
import os

from openai import OpenAI

PROXY = os.environ.get("PROXY_URL", "http://127.0.0.1:8321/v1")
WHO = {"X-Souffleur-User": "me", "X-Souffleur-Session": "terminal"}


def main() -> None:
    messages = [{"role": "system", "content": "You are Mo, a cheerful barista."}]
    key = os.environ.get("OPENAI_API_KEY", "none")  # the upstream's; the proxy passes it on
    with OpenAI(base_url=PROXY, api_key=key, default_headers=WHO) as ai:
        while said := input("you: ").strip():
            messages.append({"role": "user", "content": said})
            stream = ai.chat.completions.create(
                model=os.environ["SOUFFLEUR_MODEL"], messages=messages, stream=True
            )
            reply = ""
            print("mo: ", end="")
            for chunk in stream:
                words = chunk.choices[0].delta.content if chunk.choices else None
                reply += words or ""
                print(words or "", end="", flush=True)
            print()
            messages.append({"role": "assistant", "content": reply})


if __name__ == "__main__":
    main()
