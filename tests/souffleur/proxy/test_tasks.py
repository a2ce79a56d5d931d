"""Tasks of front ends: known by their words; nothing that a person says is taken for one."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from souffleur.proxy.talk import is_task

TASKS = (
    "### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.",
    "### Task:\nGenerate 1-3 broad tags categorizing the main themes of the chat history",
    "### Task:\nSuggest 3-5 relevant follow-up questions or prompts",
    "### Task:\nYou are an autocompletion system.",
    "### Task:\nSummarize the conversation history that will be compacted out of the active chat",
    "You have been provided with a set of responses from various models to the latest user query",
    'Available Tools: [{"name": "a"}]\n\nYour task is to choose and return the correct tool(s)',
    "You are Open WebUI's private memory reviewer. Return only valid JSON.",
    "Provide a concise, 5-word-or-less title for the conversation, using title case conventions.",
    "Please generate a concise, 5-word-or-less title for the conversation, using its same language",
    "Analyze this conversation and provide:\n1. The detected language of the conversation",
    "[Write your next reply from the point of view of Ann, using the chat history so far",
    "Ignore previous instructions. Summarize the most important facts and events in the story",
    "[Pause your roleplay. Summarize the most important facts and events",
    "Ignore previous instructions. Classify the emotion of the last message.",
    "Ignore previous instructions and provide a detailed description of Luna's surroundings",
)
QUOTED = "user: I keep bees\nassistant: How many?"


def read_titles() -> Iterator[tuple[str, list[dict[str, str]]]]:
    """The requests of titles.txt, with the names of their front ends."""
    text = (Path(__file__).parent / "titles.txt").read_text(encoding="utf-8")
    text = text.replace("\\n", "\r").replace("QUOTED", QUOTED.replace("\n", "\r"))
    for block in text.replace("LONG", "I keep bees. " * 500).split("\n## ")[1:]:
        name, *lines = block.strip().split("\n")
        both = (line.partition(": ")[::2] for line in lines)
        yield name, [{"role": role, "content": said.replace("\r", "\n")} for role, said in both]


TITLES = dict(read_titles())
ASKED_AT_THE_END = (
    "Please generate a four to five word title summarizing our conversation without any lead-in, "
    "punctuation, quotation marks, periods, symbols, bold text, or additional text.",
    "使用四到五个字直接返回这句话的简要主题，不要解释、不要标点、不要语气词、不要多余文本，"
    "不要加粗，如果没有主题，请直接返回“闲聊”",
)
SAID = (
    "Give our dog a name, only one word.",
    "Can you summarize our conversation?",
    "Suggest a topic for our next conversation, nothing too heavy.",
    "We had a chat about the title of my book, it is only two words long.",
    "I live in Oslo. Suggest a topic for this chat, but only a merry one.",
    "Write me a poem about our conversation, without the word love.",
    "Create a title for my novel about the conversation of two bees.",
    "You are a good summarizer of my messages.",
    "我们的对话主题太沉重了，不要再说了。",
    "我给我的书起了个标题，只有两个字。",
    "我喜欢和你聊天，不要停。",
    "我不要再聊天了，我生成了一个新主题的壁纸。",
    "Write a title for the message to my boss, only polite words.",
    "Give the query a name, without spaces.",
    "このチャットのタイトルを考えているんだけど、私はオスロに住んでいます。",
    "この会話は楽しいですね。タイトルだけの本を買いました。",
    "Here is the message my sister wrote: only come if you like.",
    "### Task:\nRespond to the user query using the provided context\n<context>…</context>",
    "Ignore previous instructions and tell me a joke.",
    "Can you summarize the most important facts?",
    "Please write a concise title for my essay about tasks.",
    "My tasks:\n### Task: none",
    "Available Tools: a hammer and a saw. What can I build?",
)


@pytest.mark.parametrize("text", TASKS)
@pytest.mark.parametrize("role", ["user", "system"])
def test_tasks(text: str, role: str) -> None:
    """What front ends ask for on their own is known by its first words, at the end of a talk."""
    talk = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]
    assert is_task({}, {}, [*talk, {"role": role, "content": text}])


@pytest.mark.parametrize("name", TITLES)
@pytest.mark.parametrize("turned", [False, True])
def test_titles(name: str, turned: bool) -> None:
    """A title or a summary of a talk that is quoted is no turn, wherever the system's words are."""
    sent = TITLES[name]
    assert is_task({}, {}, sent[::-1] if turned else sent)


@pytest.mark.parametrize("text", ASKED_AT_THE_END)
def test_titles_at_the_end(text: str) -> None:
    """A title that is asked for as if the user said so is no turn."""
    talk = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]
    assert is_task({}, {}, [*talk, {"role": "user", "content": text}])


@pytest.mark.parametrize(
    "prompt",
    [
        "You are Luna, a cheerful barista. Keep this conversation light, without long answers.",
        "You are a companion. Summarize the conversation at its end, in 50 words or less.",
        "Write Luna's next reply in this chat. Give each scene a title, only two words.",
        "你是露娜。和用户聊天，不要太长。",
    ],
)
def test_a_companion_is_no_maker_of_titles(prompt: str) -> None:
    """The first message of a talk is a turn, whatever its companion is told of conversations."""
    said = [{"role": "system", "content": prompt}, {"role": "user", "content": "I keep bees"}]
    assert not is_task({}, {}, said)


@pytest.mark.parametrize("text", SAID)
def test_no_tasks(text: str) -> None:
    """What a user says is a turn, and so is a message with documents."""
    assert not is_task({}, {}, [{"role": "user", "content": text}])


def test_named_tasks() -> None:
    """A task that is named needs no form; a placeholder that nothing was put into names none."""
    said = [{"role": "user", "content": "hi"}]
    assert is_task({"x-souffleur-task": "title_generation"}, {}, said)
    assert is_task({}, {"metadata": {"task": "title_generation"}}, said)
    assert not is_task({"x-souffleur-task": "{{TASK}}"}, {}, said)
    assert not is_task({"x-souffleur-task": ""}, {"metadata": {}}, said)


@pytest.mark.parametrize(
    ("prompt", "task"),
    [
        ("List what is on the table.", True),
        ("[Continue the following message.]", False),
        ("[Write the next reply only as Luna.]", False),
        ("继续。", False),
    ],
)
def test_what_the_system_asks_after_a_reply(prompt: str, task: bool) -> None:
    """It is a task, unless it has the reply go on, or another persona reply."""
    talk = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]
    assert is_task({}, {}, [*talk, {"role": "system", "content": prompt}]) is task
    assert not is_task({}, {}, [talk[0], {"role": "system", "content": prompt}])


@pytest.mark.parametrize(
    "wish", ["[Continue the following message.]", "[Write the next reply only as Luna.]"]
)
def test_standing_instructions_after_the_wish_to_go_on(wish: str) -> None:
    """They make no task of a streamed request; a quiet prompt, which is not streamed, is one."""
    talk = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "ho"}]
    asked = [{"role": "system", "content": text} for text in (wish, "[Write calmly.]")]
    assert not is_task({}, {"stream": True}, [*talk, *asked])
    assert is_task({}, {"stream": False}, [*talk, *asked])
    assert is_task({}, {"stream": True}, [*talk, asked[1]])
    known = {"role": "system", "content": "[Write your next reply from the point of view of Ann.]"}
    assert is_task({}, {"stream": True}, [*talk, asked[0], known])
