"""Topics that are forgotten after recorded dialogues are nowhere any more."""

from pathlib import Path

import pytest

from bench.forgetting import forget_one, topics_of
from souffleur.evals.script import read_script
from tests.place import in_folder

EVALS = Path(__file__).parents[2] / "evals"
RECORDINGS = EVALS / "recordings" / "suite"

pytestmark = in_folder


@pytest.mark.parametrize(
    ("name", "topic"), [("forget_en", "Biscuit"), ("two_speakers_zh", "")], ids=["en", "zh"]
)
async def test_a_topic_of_a_dialogue(name: str, topic: str) -> None:
    """No read, record, backup, log line or file yields it, and no other memory has changed."""
    script = read_script(EVALS / "dialogues" / f"{name}.yaml")
    sought = topic or (await topics_of(script, RECORDINGS, 1))[0]
    done = await forget_one(script, RECORDINGS, sought)
    assert done.before > 3
    assert done.counts["memory"] >= 1
    assert (done.left, done.harmed) == ((), ())
