"""Tasks of front ends: known by their words; nothing that a person says is taken for one."""

import pytest

from souffleur.proxy.tasks import is_task

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
SAID = (
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
