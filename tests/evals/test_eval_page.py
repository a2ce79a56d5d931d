"""The page of results: whole, self-contained, and safe whatever was said."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, strategies as st

from souffleur.evals.page import count_faults, misses, shortfalls, tables, to_html
from souffleur.evals.result import (
    Call,
    ErrorType,
    Mark,
    OpRecord,
    OpStatus,
    ResultFile,
    Run,
    ScriptResult,
    Step,
    StepMarks,
    number,
)

VOID = {"meta", "br", "rect", "line", "circle"}
NASTY = "<script>alert('x')</script> & \u202eabc"


class Balance(HTMLParser):
    """Whether every tag is closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


def mark(standing: OpStatus, nature: ErrorType = ErrorType.NONE) -> Mark:
    return Mark(standing=standing, nature=nature, why="the referee said so")


def played(words: str = "Lin lives in Jurong.") -> ScriptResult:
    call = Call(
        name="monitor", rules="k1", asked=f"## Known\n{words}", answer='{"ops": []}', seconds=1.5
    )
    step = Step(
        place="s1.1",
        at="2026-03-05T20:00:00+08:00",
        user="I moved.",
        assistant="Good luck!",
        whisper=f"- {words} (whispered)",
        ops=(
            OpRecord(op="UPDATE", who="monitor", content=words, olds=("Lin lived in Woodlands.",)),
            OpRecord(op="ADD", who="monitor", content="Lin is on Mars.", kind="fact"),
            OpRecord(
                op="ADD", who="monitor", content="Lin's key is 1.", refused="sensitive: a key"
            ),
        ),
        told=("[2026-03-05] Lin moved.",),
        calls=(call,),
        judged=StepMarks(
            marks=(
                mark(OpStatus.RIGHT),
                mark(OpStatus.WRONG, ErrorType.INVENTED),
                mark(OpStatus.REFUSED),
            ),
            missed=("BOOST Woodlands",),
            lost=("15 minutes (UPDATE moved)",),
            recall=("not brought: Jurong",),
        ),
    )
    return ScriptResult(
        name="moving",
        about="cascade",
        title="Moving house",
        user="Lin",
        assistant="Mo",
        steps=(step,),
        memories=(words,),
        end=("not held: gym",),
        counts={"turns": 1, "calls": 1, "ADD.wrong": 1, "UPDATE.right": 1},
    )


def run(model: str = "gpt-x", **fields: object) -> Run:
    base: dict[str, object] = {
        "model": model,
        "mode": "recorded",
        "scripts": (played(),),
        "metrics": {
            "all precision": {"value": 0.5, "low": 0.25, "high": 0.75},
            "invented": {"value": 1, "low": 0, "high": 3},
        },
        "rules": {"k1": "You are the background memory."},
    }
    return Run.model_validate({**base, **fields})


def html(*runs: Run) -> str:
    return to_html(ResultFile(runs=runs))


def test_the_page_is_whole_and_loads_nothing() -> None:
    """Every tag is closed; no script, no file, no address."""
    text = html(run())
    parser = Balance()
    parser.feed(text)
    assert parser.open == []
    assert not parser.tags & {"script", "link", "img", "iframe"}
    assert "http" not in re.sub(r"http-equiv", "", text)
    assert "default-src 'none'" in text
    assert "light-dark(" in text


def test_one_script_is_not_several() -> None:
    """Scripts and turns are counted with the right noun."""
    assert "recorded: 1 script, 1 turn<" in html(run())
    assert "recorded: 2 scripts, 2 turns<" in html(run(scripts=(played(), played())))


def test_all_of_a_dialogue_is_there() -> None:
    """Turns, ops with their marks, misses, the block, the prompt as sent, and the answer."""
    text = html(run())
    for words in (
        *("I moved.", "Good luck!", "Lin lives in Jurong.", "Lin lived in Woodlands."),
        *(
            "UPDATE</bdi> right",
            "ADD</bdi> wrong",
            "invented",
            "sensitive: a key",
            "ADD</bdi> refused",
        ),
        *("BOOST Woodlands", "15 minutes (UPDATE moved)", "not brought: Jurong", "not held: gym"),
        *("(whispered)", "## Known", "You are the background memory.", "{&#34;ops&#34;: []}"),
        *("[2026-03-05] Lin moved.", "the referee said so", "1.5 s"),
    ):
        assert words in text
    assert 'href="#run0-moving"' in text
    assert 'id="run0-moving"' in text


def test_each_line_names_who_speaks() -> None:
    """The user and the persona by their names; who has none is called by the role."""
    body = " ".join(html(run()).split())
    assert '<b class="speaker"><bdi>Lin</bdi></b> <bdi>I moved.</bdi>' in body
    assert '<b class="speaker"><bdi>Mo</bdi></b> <bdi>Good luck!</bdi>' in body
    nameless = ScriptResult(name="a", steps=(Step(place="s1.1", at="", assistant="Hi."),))
    assert "<bdi>assistant</bdi></b> <bdi>Hi.</bdi>" in html(run(scripts=(nameless,)))


def test_what_is_not_perfect_comes_first() -> None:
    """Named with its interval, before the folded table of all; perfect ones are counted."""
    metrics = {
        "all precision": {"value": 0.5, "low": 0.25, "high": 0.75},
        "all recall": {"value": 1.0},
        "noise": {"value": 2, "low": 0, "high": 3},
        "invented": {"value": 0},
        "calls per turn": {"value": 1.5},
    }
    assert shortfalls(run(metrics=metrics)) == (
        2,
        {"all precision": "0.500 (0.250 to 0.750)", "noise": "2 (0 to 3)"},
    )
    text = html(run(metrics=metrics))
    assert "2 of 4 metrics are at their best" in text
    assert text.index("<bdi>noise</bdi>: 2 (0 to 3)") < text.index('<details class="all">')
    assert "all recall" not in text[text.index("How good it is") : text.index("All metrics")]


def test_what_was_said_stays_words() -> None:
    """Markup is escaped, and the direction of the text does not leak."""
    text = html(run(scripts=(played(NASTY),)))
    assert "<script>" not in text
    assert "<bdi>&lt;script&gt;" in text


@given(st.text(alphabet="<>&\"'`/!-\n\u202eaé{%}#", max_size=20))
def test_any_words_stay_words(words: str) -> None:
    """Whatever a model is called and says, every tag is closed and none is added."""

    def tags(words: str) -> set[str]:
        parser = Balance()
        parser.feed(html(run(words, scripts=(played(words),), rules={"k1": words})))
        assert parser.open == []
        return parser.tags

    assert tags(words) == tags("a")


def test_models_stand_side_by_side() -> None:
    """A column each in the tables; a model that has no such number has a dash."""
    text = html(run(), run("qwen-y", metrics={"all precision": {"value": 0.9}}))
    head = text[text.index("<h2>How good it is") :]
    assert head.index("gpt-x") < head.index("qwen-y")
    assert "0.500 (0.250 to 0.750)" in head
    assert "0.900" in head
    assert "–" in head
    assert 'id="run1-moving"' in text


def test_failures_are_said_first() -> None:
    """Failures stand above all numbers, to be read before these are believed."""
    failed = ScriptResult(name="stale", failure="the recording is stale: record it")
    text = html(run(scripts=(played(), failed)))
    assert text.index("the recording is stale") < text.index("How good it is")


def test_a_plot_has_its_dot_and_its_line() -> None:
    """In percent of the width, with a little room at both ends; what was not measured has none."""
    whole = html(run(metrics={"all precision": {"value": 0.5, "low": 0, "high": 1}}))
    assert 'cx="50.00%"' in whole
    assert 'x1="3.00%" x2="97.00%"' in whole
    bare = html(run(metrics={"all precision": {"value": 0.5}}), run(metrics={}))
    assert (bare.count("<circle"), bare.count("<line")) == (1, 0)


def test_plots_of_rates_end_at_one() -> None:
    """Those of errors end at the highest of them all, those of a cost at its own highest."""
    one = {"all precision": 0.5, "wrong deletes": 2, "invented": 1, "calls per turn": 8}
    other = {"invented": 4, "tokens in per turn": 900}
    runs = [
        run(metrics={name: {"value": value} for name, value in some.items()})
        for some in (one, other)
    ]
    ends = {row.metric.name: row.highest for rows in tables(runs).values() for row in rows}
    assert ends == {
        **{"all precision": 1, "wrong deletes": 4, "invented": 4},
        **{"calls per turn": 8, "tokens in per turn": 900},
    }


def test_faults_are_counted_by_kind() -> None:
    """The most frequent first, drawn as bars of which the longest takes the whole width."""
    failed = ScriptResult(name="stale", failure="stale")
    counts = count_faults(run(scripts=(played(), played(), failed)))
    assert next(iter(counts.items())) == ("ADD: not supported, says the marking model", 2)
    assert counts["failed"] == 1
    drawn = html(run(scripts=(played(), played(), failed)))
    assert drawn.count('<rect width="100.0%"') == 5
    assert drawn.count('<rect width="50.0%"') == 1
    assert "<p>None.</p>" in html(run(scripts=()))


def test_what_was_missed_is_named() -> None:
    """What was missed is named with a word for its kind; empty troubles are not named."""
    step = played().steps[0].model_copy(update={"trouble": "500: oops"})
    assert misses(step) == [
        ("missed", "BOOST Woodlands"),
        ("detail lost", "15 minutes (UPDATE moved)"),
        ("recall", "not brought: Jurong"),
        ("failed", "500: oops"),
    ]


def test_words_do_not_turn_those_beside_them() -> None:
    """A content that turns the direction leaves that of the old content and of the model alone."""
    text = html(run("\u202emodel", scripts=(played(NASTY),)))
    assert "\u202eabc</bdi> ← <bdi>Lin lived in Woodlands.</bdi>" in text
    body = text[text.index("<body>") :]
    assert body.count("<bdi>\u202emodel</bdi>") == body.count("\u202emodel")


@pytest.mark.parametrize(
    ("value", "said"),
    [(1.0, "1.000"), (0.0, "0.000"), (3.0, "3"), (2.5, "2.500"), (1234.0, "1,234")],
)
def test_numbers_are_short(value: float, said: str) -> None:
    """Rates with three places, counts with none."""
    assert number(value) == said
