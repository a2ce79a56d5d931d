"""The story as one self-contained HTML page."""

from collections.abc import Sequence
from zoneinfo import ZoneInfo

from souffleur.demo.dialogue import Dialogue
from souffleur.demo.effects import Effect
from souffleur.demo.story import Ending, Scene
from souffleur.demo.words import Words
from souffleur.report.page import render

TONES = {
    Effect.KEPT: "right",
    Effect.PROMOTED: "right",
    Effect.REPLACED: "changed",
    Effect.MERGED: "changed",
    Effect.FORGOTTEN: "wrong",
    Effect.REFUSED: "wrong",
}
"""The CSS class for the tag of an effect; other tags are plain."""


def to_html(
    dialogue: Dialogue,
    scenes: Sequence[Scene],
    end: Ending,
    words: Words,
    *,
    source: tuple[str, str],
) -> str:
    """Return a page that needs no script, file or network.

    `source` is the model that answered, and the day on which its answers were recorded.
    """
    zone = ZoneInfo(dialogue.timezone)
    return render(
        "souffleur.demo",
        "story.html",
        title=words.title,
        lang=words.language,
        words=words,
        intro=words.introduction(dialogue),
        dialogue=dialogue,
        scenes=scenes,
        end=end,
        totals=words.took_of(end, *source),
        date=lambda at, is_night=False: words.date(at, zone, is_night=is_night),
        tones=TONES,
    )
