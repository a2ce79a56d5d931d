"""What the story says in its own words, read from `words.yaml` of each language."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

from souffleur.demo.happening import Happening, What
from souffleur.demo.story import Ending, Gone, Scene
from souffleur.dialogue import Dialogue
from souffleur.knowledge.memory import Frozen


class Count(int):
    """A number that is written with its noun: `{n:memory|memories}`.

    >>> f"{Count(1):memory|memories}, {Count(2000):memory|memories}, {Count(3)}"
    '1 memory, 2,000 memories, 3'
    """

    def __format__(self, spec: str) -> str:
        one, _, many = spec.partition("|")
        return f"{int(self):,} {one if self == 1 else many}".rstrip()


class Words(Frozen):
    """The words of one language; `{…}` are filled in, counts as `Count`."""

    language: str
    """Its code, as en."""
    title: str
    intro: tuple[str, ...]
    """What this is, why it is better, and what follows."""
    labels: dict[What, str]
    whispered: str
    because: str
    was: str
    more: str
    nowhere: str
    whispered_of: str
    rest: str
    comma: str
    """What stands between the parts of `rest`."""
    rests: dict[What, str]
    """What is said of changes that are not shown, in this order."""
    gone: str
    went_with: str
    months: tuple[str, ...]
    day: str
    night: str
    remembered: str
    always: str
    legend: tuple[str, ...]
    others: str
    portrait: str
    took: str
    totals: tuple[str, ...]
    next: str
    hints: dict[str, str]
    """Commands to go on with, and what each does."""

    def date(self, at: datetime, zone: tzinfo, *, is_night: bool = False) -> str:
        """Return the day of a moment."""
        at = at.astimezone(zone)
        parts = {"day": at.day, "month": self.months[at.month - 1], "year": at.year}
        return (self.night if is_night else self.day).format(**parts)

    def introduction(self, dialogue: Dialogue) -> list[str]:
        """Return the sentences before the first scene."""
        zone = ZoneInfo(dialogue.timezone)
        turns = [turn for session in dialogue.sessions for turn in session.turns]
        named = {
            "user": dialogue.user.title,
            "assistant": dialogue.assistant.name,
            "start": self.date(turns[0].at, zone),
            "end": self.date(turns[-1].at, zone),
        }
        return [sentence.format(**named) for sentence in self.intro]

    def told_of(self, scene: Scene) -> str:
        """Return how many lines were whispered of which only some are shown."""
        return self.whispered_of.format(
            shown=Count(len(scene.whispered)), every=Count(scene.whispered_of)
        )

    def left(self, rest: Mapping[What, int]) -> str:
        """Return how many changes are not shown."""
        said = [self.rests[what].format(n=Count(rest[what])) for what in self.rests if what in rest]
        return self.rest.format(self.comma.join(said)) if said else ""

    def nothing_of(self, gone: Gone) -> str:
        """Return in how much nothing of somebody or something is left."""
        counts = {
            "memories": Count(gone.memories),
            "episodes": Count(gone.episodes),
            "portraits": Count(gone.portraits),
        }
        return self.gone.format(words=gone.pattern, **counts)

    def went(self, one: Happening) -> str:
        """Return what went with a forgotten memory; empty if nothing did."""
        counts = {"episodes": Count(one.episodes), "portraits": Count(one.portraits)}
        return self.went_with.format(**counts) if one.episodes or one.portraits else ""

    def took_of(self, end: Ending, model: str, recorded_on: str) -> list[str]:
        """Return what the whole dialogue took, as sentences."""
        usage, done = end.usage, Counter(end.done)
        counts = {what.name.lower(): Count(done[what]) for what in What}
        counts |= {"turns": Count(end.turns), "nights": Count(end.nights)}
        counts |= {"nothing": Count(end.changed_nothing), "calls": Count(usage.calls)}
        counts |= {"tokens_in": Count(usage.input_tokens), "tokens_out": Count(usage.output_tokens)}
        counts |= {"in_each": Count(usage.input_tokens // end.turns)}
        counts |= {"out_each": Count(usage.output_tokens // end.turns)}
        return [one.format(**counts, model=model, day=recorded_on) for one in self.totals]


def read_words(folder: Path) -> Words:
    """Return the words of the language that is in this folder."""
    import yaml

    return Words.model_validate(yaml.safe_load((folder / "words.yaml").read_text("utf-8")))
