"""The words of the story around its scenes, read from `words.yaml` of each language."""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo

from souffleur.demo.dialogue import Dialogue
from souffleur.demo.effects import Effect, Event
from souffleur.demo.story import Ending, Gone, Scene
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
    """The words of a language; `{…}` are filled in, and numbers are a `Count`."""

    language: str
    """The code of the language, like en."""
    title: str
    intro: tuple[str, ...]
    """The introduction, sentence by sentence."""
    labels: dict[Effect, str]
    whispered: str
    because: str
    was: str
    more: str
    nowhere: str
    whispered_of: str
    rest: str
    comma: str
    """The separator between the phrases of `rest`."""
    rests: dict[Effect, str]
    """The phrase for further events by effect, in the order in which they are shown."""
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
    """Commands to try next, and a phrase for each."""

    def date(self, at: datetime, zone: tzinfo, *, is_night: bool = False) -> str:
        """Return the date of a moment in words."""
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
        """Return a phrase: the number of whispered lines that are shown, and of all."""
        return self.whispered_of.format(
            shown=Count(len(scene.whispered)), every=Count(scene.whispered_of)
        )

    def left(self, rest: Mapping[Effect, int]) -> str:
        """Return a phrase: the number of events that are not shown."""
        said = [self.rests[one].format(n=Count(rest[one])) for one in self.rests if one in rest]
        return self.rest.format(self.comma.join(said)) if said else ""

    def nothing_of(self, gone: Gone) -> str:
        """Return a phrase: the number of records that were searched without finding the pattern."""
        counts = {
            "memories": Count(gone.memories),
            "episodes": Count(gone.episodes),
            "portraits": Count(gone.portraits),
        }
        return self.gone.format(words=gone.pattern, **counts)

    def went(self, one: Event) -> str:
        """Return a phrase: the episodes and portraits removed with a forgotten memory, if any."""
        counts = {"episodes": Count(one.episodes), "portraits": Count(one.portraits)}
        return self.went_with.format(**counts) if one.episodes or one.portraits else ""

    def took_of(self, end: Ending, model: str, recorded_on: str) -> list[str]:
        """Return the cost of the whole dialogue, as sentences."""
        usage, done = end.usage, Counter(end.done)
        counts = {effect.name.lower(): Count(done[effect]) for effect in Effect}
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
