"""Threads: which session and which turn a request means."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given, strategies as st

from souffleur.proxy.speaker import Speaker
from souffleur.proxy.talk import GIST, Talk, gist, join, own_words, read_talk
from souffleur.proxy.threads import EDITED_WITHIN, Chains, Threads, opened

ANN = Speaker("ann", "default", "s", None)


def talk(*texts: str) -> Talk:
    """A talk in which user and companion take turns; the user begins."""
    roles = ("user", "assistant")
    said: list[Any] = [{"role": roles[n % 2], "content": text} for n, text in enumerate(texts)]
    found = read_talk(said)
    assert found
    return found


def test_a_first_message_alike_is_edited() -> None:
    """A message that differs in a word is the same turn; an hour later it is another one."""
    now = [0.0]
    threads = Threads(lambda: now[0])
    first = threads.open(ANN, talk("I had pasta for lunch"))
    assert threads.open(ANN, talk("I had pizza for lunch")).turn_id == first.turn_id
    now[0] = EDITED_WITHIN
    assert threads.open(ANN, talk("I had pasta for dinner")).turn_id != first.turn_id


def test_what_has_gone_on_is_not_edited() -> None:
    """A message like the first one of a session that has gone on since is another turn."""
    threads = Threads()
    first = threads.open(ANN, talk("I had pasta for lunch"))
    threads.open(ANN, talk("I had pasta for lunch", "Nice.", "Yes."))
    assert threads.open(ANN, talk("I had pizza for lunch")).turn_id != first.turn_id


def test_same_turns_before_same_turn() -> None:
    """The turn after the same two turns is the same one, whatever was said long before or in it."""
    threads = Threads()
    long = threads.open(ANN, talk("0", "a", "1", "b", "2", "c", "now"))
    short = threads.open(ANN, talk("1", "b", "2", "c", "now, edited"))
    other = threads.open(ANN, talk("0", "a", "2", "c", "now"))
    assert long.turn_id == short.turn_id != other.turn_id


STEPS = st.tuples(
    st.integers(0, 3),  # which talk
    st.sampled_from(["say", "say", "hi", "swipe", "edit", "fail"]),
    st.sampled_from(["Hello!", "Sure."]),
    st.integers(0, 3),  # exchanges that an edit leaves
)


@given(st.lists(STEPS, max_size=20), st.booleans(), st.sampled_from(["", "Hello!"]))
def test_no_talk_takes_from_another(steps: list[Any], named: bool, greeting: str) -> None:
    """All is kept that one of some talks shows that begin alike; in named ones, nothing else is."""
    threads = Threads(lambda: 0.0)
    talks: list[list[str]] = [[greeting] * bool(greeting) for _ in range(4)]
    kept: dict[tuple[str, str], str] = {}
    for number, (which, act, reply, left) in enumerate(steps):
        shown, begin = talks[which], len(talks[which]) % 2 and 1
        text = (
            "hi" if act == "hi" else f"{'Tell me a joke' if number % 2 else 'I keep bees'} {number}"
        )
        if act == "edit" and not named:
            continue
        if act in ("swipe", "edit") and len(shown) > begin + 2:
            end = len(shown) - 2 if act == "swipe" else min(begin + 2 + 2 * left, len(shown) - 2)
            text = shown[end] if act == "swipe" else text
            shown = shown[:end]
        roles = ("assistant", "user") if begin else ("user", "assistant")
        said = [{"role": roles[n % 2], "content": one} for n, one in enumerate([*shown, text])]
        asked = read_talk(said)
        assert asked
        turn = threads.open(replace(ANN, session_id=f"s{which}" if named else None), asked)
        if act == "fail":
            continue
        threads.close(replace(turn, so_far=reply), reply)
        for id in turn.rewound:
            kept.pop((turn.session_id, id), None)
        kept[turn.session_id, turn.turn_id] = text
        talks[which] = [*shown, text, reply]
    shown_at_last = {one for talk in talks for one in talk[bool(greeting) :: 2]}
    assert shown_at_last <= set(kept.values())
    assert not named or set(kept.values()) <= {*shown_at_last, "hi"}


GREETED = [("assistant", "Luna: Meow."), ("assistant", "Sera: You wake up.")]
MEMBERS = "[Start a new group chat. Group members: Luna, Sera]"


def group(by: str, *said: tuple[str, str], asked: str = "", members: str = MEMBERS) -> Talk:
    """A talk of several personas, as SillyTavern asks for one's reply."""
    begun = [("system", f"Write {by}'s next reply."), ("system", members)]
    ends = [("system", f"[Write the next reply only as {by}.]"), ("system", asked)]
    whole = [*begun, *said, *ends]
    found = read_talk([{"role": role, "content": text} for role, text in whole if text])
    assert found
    return found


@pytest.mark.parametrize("members", [MEMBERS, ""])
def test_all_personas_of_a_group_reply_in_one_turn(members: str) -> None:
    """Each has a prompt of its own; yet both replies are lines of the same turn of one session."""
    threads, said = Threads(), ("user", "I keep bees")
    ann = replace(ANN, session_id=None)
    for asked in ("", "[Write calmly.]"):
        luna = threads.open(ann, group("Luna", *GREETED, said, asked=asked, members=members))
        threads.close(replace(luna, so_far="Buzz."), said="Buzz.")
        heard = [*GREETED, said, ("assistant", "Luna: Buzz.")]
        sera = threads.open(ann, group("Sera", *heard, asked=asked, members=members))
        assert (sera.session_id, sera.turn_id) == (luna.session_id, luna.turn_id)
        assert (sera.so_far, sera.joint) == ("Luna: Buzz.", "\n")


def test_a_group_is_known_by_its_latest_reply() -> None:
    """When its beginning is not sent any more, the talk goes on in its session."""
    threads, ann = Threads(), replace(ANN, session_id=None)
    turn = threads.open(ann, group("Sera", *GREETED, ("user", "Hi"), ("assistant", "Luna: Ho.")))
    threads.close(replace(turn, so_far="Luna: Ho.\nGood day, Ann."), said="Good day, Ann.")
    left = [("assistant", "Luna: Ho."), ("assistant", "Sera: Good day, Ann."), ("user", "So?")]
    cut = group("Luna", ("user", "…"), *left, members="")
    assert threads.open(ann, cut).session_id == turn.session_id


@pytest.mark.parametrize("cut", [0, 2, 4])
def test_two_talks_with_the_same_short_reply(cut: int) -> None:
    """Each goes on in its own session, whichever was replied to last, also if it is cut off."""
    threads, ann = Threads(), replace(ANN, session_id=None)
    talks = {
        "tea": ["I like tea", "Which?", "Sencha", "Sure.", "Is it green?", "Yes."],
        "dogs": ["I fear dogs", "Why?", "They bark", "Sure.", "So loud", "Yes."],
    }
    begun: dict[str, str] = {}
    for place in (0, 2, 4):
        for name, said in talks.items():
            turn = threads.open(ann, talk(*said[: place + 1]))
            threads.close(replace(turn, so_far=said[place + 1]), said=said[place + 1])
            begun.setdefault(name, turn.session_id)
            assert turn.session_id == begun[name]
    for name, said in talks.items():
        later = threads.open(ann, talk(*said[cut:], "And now?"))
        assert later.session_id == begun[name]


def test_a_reply_of_a_group_is_continued() -> None:
    """The wish to go on counts, wherever it stands among what the system says at the end."""
    said = ("user", "Hi"), ("assistant", "Luna: Well,")
    found = group("Luna", *said, asked="[Continue the following message: Well,]")
    assert (found.so_far, found.joint) == ("Luna: Well,", "")


def test_a_sentence_after_a_whole_one_begins_a_line() -> None:
    """A companion that speaks again does not speak in the midst of its sentence."""
    assert join("*She nods.*", "", "Well?") == "*She nods.*\nWell?"
    assert join("好。", "", "再见。") == "好。\n再见。"
    assert join("And", "", "roid") == "Android"
    assert join("Yes.", "\n", "No.") == "Yes.\nNo."
    assert join("", "", "No.") == "No."


def test_responses_of_others_are_unknown() -> None:
    """The id of somebody else's response does not lead into their session."""
    chains = Chains()
    turn = opened(ANN, talk("Hi"), "s", "t")
    chains.close(turn, "resp_1")
    eve = Speaker("eve", "default", None, None)
    followed = chains.follow(eve, talk("So?"), "resp_1")
    assert followed
    assert followed.user_id == "eve"
    assert followed.session_id != turn.session_id
    assert chains.follow(eve, None, "resp_1") is None


SOURCES = (
    "### Task:\nRespond to the user query using the provided context, with citations.\n\n"
    '<context>\n<source id="1">I am Bob, </context> and I live in Rome.</source>\n</context>\n'
)


ATTACHED = (
    '<attached_files>\n<file type="file" id="1" name="a.txt"/>\n'
    '<file type="file" id="2" name="b.txt"/>\n</attached_files>\n'
)
QUERY = "<user_query>\nWho is this?\n</user_query>\n"


@pytest.mark.parametrize("template", [SOURCES, SOURCES + QUERY, ATTACHED, f"{SOURCES}\n{ATTACHED}"])
def test_documents_are_not_said(template: str) -> None:
    """Of a message with documents before it, only the message is the user's; it stays one turn."""
    plain = talk("I was in Rome", "Nice.", "Who is this?")
    found = talk("I was in Rome", "Nice.", f"{template}\nWho is this?")
    assert (found.user, found.said) == (plain.user, plain.said)
    threads, alone = Threads(), talk(f"{template}\nWho is this?")
    assert threads.open(ANN, alone) == threads.open(ANN, talk("Who is this?"))


def test_files_alone_say_nothing() -> None:
    """A message of files only says that there are some."""
    assert talk(f"{SOURCES}\n{ATTACHED}").user == "[file]"


def test_a_task_without_documents_is_said() -> None:
    """A message that has the words, but no documents, stays as it is."""
    said = "### Task:\nRespond to the user query using the provided context: none"
    assert talk(said).user == said


@given(st.text(max_size=6 * GIST))
@example("a" * (GIST - 1) + "Σ b")
@example("b" * (GIST - 1) + "Σ")
@example("İ" * GIST)
def test_a_gist_is_the_first_letters_and_digits_of_the_whole(text: str) -> None:
    """A gist read only as far as it is needed equals that of all letters, so ids stay the same."""
    letters = "".join(one for one in text[: 4 * GIST] if one.isalnum()).lower()[:GIST]
    assert gist(text) == (letters or text[: 4 * GIST].strip()[:GIST])


def test_what_only_looks_like_documents_is_the_users_word() -> None:
    """A closing tag alone, or an opening one, takes nothing from what the user says."""
    for said in ("</context> is a tag", "### Task: help me", "<attached_files> what is that?"):
        assert own_words(said) == said
