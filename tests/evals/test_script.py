"""Scripts: read strictly, and where one is wrong, the error says where."""

from pathlib import Path

import pytest
import yaml

from souffleur.errors import InputError
from souffleur.evals.script import Op, RunPart, TalkPart, find_scripts, occurs, read_script

EVALS = Path(__file__).parent.parent.parent / "evals"
WHOLE = """
title: Moving house
about: cascade
user: {id: lin, title: 主人, language: zh}
assistant: {id: xiang, name: 小祥}
timezone: Asia/Shanghai
known:
  - {content: 主人住在兀兰。, kind: fact, at: "2026-01-03T18:00:00+08:00", importance: high}
sessions:
  - id: s1
    turns:
      - at: "2026-03-05T20:00:00+08:00"
        user: 我搬到裕廊东了
        assistant: 恭喜！
        expect:
          - {op: UPDATE, of: 兀兰, pattern: [裕廊], details: [裕廊东], kind: [fact]}
        may: [{op: [ADD, UPDATE], pattern: 搬}]
        never: [{op: DELETE, why: it was true}]
        recall: {brings: 兀兰}
  - run: review
    at: "2026-06-01T04:00:00+08:00"
    expect: [{op: KEEP, of: 裕廊}]
asks:
  - {at: "2026-06-02T08:00:00+08:00", text: 我住哪儿？, brings: [裕廊], lacks: [兀兰]}
end:
  holds: [{pattern: 裕廊, once: true}]
  lacks: [火星]
"""


def written(folder: Path, text: str, name: str = "moving") -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_whole_script_is_read(tmp_path: Path) -> None:
    """Talks and runs in order; one value stands for a list of one."""
    script = read_script(written(tmp_path, WHOLE))
    talk, run = script.sessions
    assert (script.name, script.about) == ("moving", "cascade")
    assert isinstance(talk, TalkPart)
    assert isinstance(run, RunPart)
    (turn,) = talk.turns
    assert turn.expect[0].op == (Op.UPDATE,)
    assert turn.expect[0].of == ("兀兰",)
    assert turn.may[0].op == (Op.ADD, Op.UPDATE)
    assert turn.may[0].pattern == ("搬",)
    assert turn.recall.brings == ("兀兰",)
    assert run.expect[0].label == "KEEP 裕廊"
    assert script.end.holds[0].once


def test_a_talk_is_a_dialogue(tmp_path: Path) -> None:
    """What is replayed has the names, the zone and the words, and nothing of what is expected."""
    script = read_script(written(tmp_path, WHOLE))
    talk = script.sessions[0]
    assert isinstance(talk, TalkPart)
    dialogue = script.dialogue(talk)
    assert (dialogue.user.title, dialogue.assistant.name) == ("主人", "小祥")
    assert dialogue.timezone == "Asia/Shanghai"
    assert [turn.user for turn in dialogue.sessions[0].turns] == ["我搬到裕廊东了"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("kind: [fact]", "sort: [fact]", r"sessions\.0\.talk\.turns\.0\.expect\.0\.sort: Extra"),
        ("op: KEEP", "op: HOLD", r"sessions\.1\.run\.expect\.0\.op\.0: Input should be"),
        ("pattern: [裕廊]", "pattern: ['(']", r"no regular expression"),
        ("op: KEEP", "op: SKIP", r"op: say that nothing may happen by leaving `expect` out"),
        ("op: UPDATE", "op: ADD", r"`of` has no effect: ADD has no old content; use `pattern`"),
        ("op: KEEP", "op: KEEP, details: x", r"`details` has no effect: KEEP writes no content"),
        ("run: review", "run: revue", r"sessions\.1\.run\.run: Input should be 'review'"),
        ("2026-06-01T04:00", "2026-02-01T04:00", r"time runs backward at 2026-02-01"),
        ("2026-06-02T08:00", "2026-05-02T08:00", r"time runs backward at 2026-05-02"),
        ("2026-01-03T18:00", "2026-04-03T18:00", r"known only after the first turn"),
        ("about: cascade", "note: cascade", r"about: Field required"),
        ("Asia/Shanghai", "Asia/Nowhere", r"timezone: there is no time zone"),
        ("2026-06-02T08:00:00+08:00", "2026-06-02T08:00:00", r"asks\.0\.at: .*timezone"),
        ("holds: [{pattern: 裕廊", "holds: [{pattern: []", r"end\.holds\.0\.pattern"),
        ("title: Moving house", "title: [", r"is not YAML"),
    ],
)
def test_a_mistake_is_named_with_its_place(tmp_path: Path, old: str, new: str, said: str) -> None:
    """The error names the file, the place, and what is wrong there."""
    assert WHOLE.count(old) >= 1
    path = written(tmp_path, WHOLE.replace(old, new, 1))
    with pytest.raises(InputError, match=f"moving.yaml.*{said}"):
        read_script(path)


def test_two_sessions_cannot_have_one_id(tmp_path: Path) -> None:
    """Turns of both would be one turn to the store."""
    talk = yaml.safe_load(WHOLE)["sessions"][0]
    later = yaml.safe_load(yaml.safe_dump(talk))
    later["turns"][0]["at"] = "2026-03-06T20:00:00+08:00"
    text = yaml.safe_dump({"about": "twice", "sessions": [talk, later]})
    with pytest.raises(InputError, match="same id"):
        read_script(written(tmp_path, text))


def test_scripts_are_found_by_name_and_dialogues_are_not(tmp_path: Path) -> None:
    """A dialogue without expectations, and its questions, are no scripts."""
    one, other = written(tmp_path, WHOLE, "one_zh"), written(tmp_path, WHOLE, "other_en")
    written(tmp_path, "sessions: []\ntitle: a dialogue", "talk")
    written(tmp_path, "questions: []", "talk.questions")
    assert find_scripts(tmp_path) == [one, other]
    assert find_scripts(tmp_path, "*_en") == [other]
    with pytest.raises(InputError, match=r"no script .* 'nothing'"):
        find_scripts(tmp_path, "nothing")


def test_case_and_place_do_not_matter() -> None:
    """A pattern is searched for, not matched."""
    assert occurs("podman", "The user prefers Podman.")
    assert not occurs("^prefers", "The user prefers Podman.")


@pytest.mark.parametrize(
    "path",
    [path for folder in ("dialogues", "special") for path in find_scripts(EVALS / folder)],
    ids=lambda path: path.stem,
)
def test_every_shipped_script_can_be_read(path: Path) -> None:
    """Each is about one thing, and expects something of the end."""
    script = read_script(path)
    assert script.end.holds or script.end.lacks
    assert len(script.user.title) > 0


def test_scripts_about_special_categories_refuse_them() -> None:
    """They are played with that setting, those of the suite with the default."""
    played = {
        folder: {read_script(path).special for path in find_scripts(EVALS / folder)}
        for folder in ("dialogues", "special")
    }
    assert played == {"dialogues": {"keep"}, "special": {"refuse"}}


def test_the_suite_is_in_several_languages() -> None:
    """At least 24 scripts, half of them Chinese or nearly so, one Japanese or mixed."""
    scripts = [read_script(path) for path in find_scripts(EVALS / "dialogues")]
    chinese = [script for script in scripts if script.user.language == "zh"]
    assert len(scripts) >= 24
    assert len(chinese) * 2 >= len(scripts)
    assert any(script.user.language is None for script in scripts)
