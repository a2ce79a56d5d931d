"""Results: the played scripts, their marks and their metrics; kept as a single JSON file."""

import json
from enum import StrEnum
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from souffleur.errors import InputError
from souffleur.knowledge.memory import Frozen


class Call(Frozen):
    """One request to the model under test, with its answer."""

    name: str
    rules: str
    """Key of its system message in `Run.rules`."""
    asked: str
    """The other messages, as they were sent."""
    answer: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    seconds: float | None = None
    """Duration of the call; `None` if it was recorded."""


class OpRecord(Frozen):
    """One op, as the ledger has it."""

    op: str
    who: str
    content: str = ""
    """The new content, or the content of the memory that stays."""
    olds: tuple[str, ...] = ()
    """Former contents of the memories that it changed."""
    kind: str = ""
    """The kind of the new memory."""
    reason: str = ""
    quote: str = ""
    refused: str = ""
    """Why the code refused the op; empty if the op was carried out."""

    @property
    def words(self) -> str:
        """The text in which patterns are searched: the new content, else the old contents."""
        return self.content or "\n".join(self.olds)


class OpStatus(StrEnum):
    """The status of an op, compared with what was expected."""

    RIGHT = "right"
    FINE = "fine"
    """Allowed, but not required."""
    WRONG = "wrong"
    REFUSED = "refused"
    """Refused by the code; counts as not done."""


class ErrorType(StrEnum):
    """The type of error of a wrong op."""

    NONE = ""
    WRONG_DELETE = "wrong delete"
    NOT_USED = "boost of what was not used"
    MISFILED = "another op was due"
    """An ADD in place of an UPDATE, or the other way round."""
    INVENTED = "invented"
    """Not supported by the talk."""
    DUPLICATE = "duplicate"
    """Supported, but already known."""
    NOISE = "noise"
    """Supported and new, but not worth keeping."""
    UNFORESEEN = "unforeseen"
    """Supported, new and worth keeping: the script may need a `may`."""
    OTHER = "other"

    @property
    def label(self) -> str:
        """The words for a reader. That a fact is invented is only what another model says of it.

        >>> ErrorType.INVENTED.label, ErrorType.NOISE.label
        ('not supported, says the marking model', 'noise')
        """
        unsupported = "not supported, says the marking model"
        return unsupported if self is ErrorType.INVENTED else self.value


class Mark(Frozen):
    """The mark of an op."""

    standing: OpStatus
    nature: ErrorType = ErrorType.NONE
    why: str = ""
    """The expectation that the op meets or breaks, or the LLM judge's reason."""


class StepMarks(Frozen):
    """The marks of a step."""

    marks: tuple[Mark, ...] = ()
    """A mark for each op."""
    missed: tuple[str, ...] = ()
    breaches: tuple[str, ...] = ()
    """Ops that a `never` forbids."""
    lost: tuple[str, ...] = ()
    """Details that were not retained."""
    misnamed: tuple[str, ...] = ()
    """Kinds that are wrong."""
    recall: tuple[str, ...] = ()
    """The texts that the whispered block lacks, or should not contain."""

    @property
    def is_clean(self) -> bool:
        """Whether all results are as expected."""
        wrong = any(mark.standing is OpStatus.WRONG for mark in self.marks)
        return not (wrong or self.missed or self.lost or self.misnamed or self.recall)


class Step(Frozen):
    """A turn, a run or a question, and its results."""

    place: str
    """The position in the script, such as `s1.3`, `review` or `ask.2`."""
    at: str
    user: str = ""
    assistant: str = ""
    whisper: str = ""
    """The whispered block, as a host would put it into its prompt."""
    ranked: tuple[str, ...] = ()
    """The memories found for the message, best first."""
    ops: tuple[OpRecord, ...] = ()
    told: tuple[str, ...] = ()
    """Episodes and portraits written during this step."""
    calls: tuple[Call, ...] = ()
    trouble: str = ""
    """Why the step, or a part of it, could not be judged; empty if all was judged."""
    untold: str = ""
    """Why an episode or portrait could not be written yet; it is tried again later."""
    judged: StepMarks = StepMarks()


class ScriptResult(Frozen):
    """The results of a script."""

    name: str
    about: str = ""
    title: str = ""
    user: str = "user"
    """The name of the user."""
    assistant: str = "assistant"
    """The name of the persona."""
    steps: tuple[Step, ...] = ()
    memories: tuple[str, ...] = ()
    """Contents of the memories that are active at the end, without episodes and portrait."""
    end: tuple[str, ...] = ()
    """The faults of the store at the end."""
    counts: dict[str, float] = Field(default_factory=dict)
    """All counts, see `scoring` and `metrics`."""
    failure: str = ""
    """Why the script could not be played to its end; then it is not counted at all."""

    @property
    def troubles(self) -> list[str]:
        """The errors of the script and of its steps."""
        said = [(step.place, why) for step in self.steps for why in (step.trouble, step.untold)]
        failure = [self.failure] if self.failure else []
        return failure + [f"{place}: {why}" for place, why in said if why]


class Measured(Frozen):
    """A metric with its 95 % interval."""

    value: float | None
    """The value; `None` if there was nothing to measure."""
    low: float | None = None
    high: float | None = None


class Run(Frozen):
    """The results of all scripts with a model."""

    model: str
    mode: Literal["recorded", "live"]
    scripts: tuple[ScriptResult, ...]
    """The scripts, sorted by name."""
    metrics: dict[str, Measured] = Field(default_factory=dict)
    rules: dict[str, str] = Field(default_factory=dict)
    """System messages by key."""

    @property
    def troubles(self) -> list[str]:
        """The errors of all scripts."""
        return [f"{one.name}: {trouble}" for one in self.scripts for trouble in one.troubles]


class ResultFile(Frozen):
    """A file of results: a run for each model."""

    format: Literal[1] = 1
    runs: tuple[Run, ...] = Field(min_length=1)


def to_text(saved: ResultFile) -> str:
    """Return the results as JSON; the same run always gives the same text."""
    plain = saved.model_dump(mode="json")
    return json.dumps(plain, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def read_result(path: Path) -> ResultFile:
    """Read a file of results. Raises InputError, which names the fault of the file."""
    try:
        return ResultFile.model_validate_json(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
    except ValidationError as error:
        raise InputError(
            f"{path} is no result of `souffleur eval run --out`: {error.errors()[0]['msg']}"
        ) from error


def brief(saved: ResultFile) -> ResultFile:
    """Return only the parts that `compare` needs: numbers and marks, without talk and prompts."""
    return ResultFile(runs=tuple(_brief(run) for run in saved.runs))


def _brief(run: Run) -> Run:
    scripts = tuple(
        one.model_copy(update={"steps": tuple(map(_bare, one.steps)), "memories": ()})
        for one in run.scripts
    )
    return run.model_copy(update={"scripts": scripts, "rules": {}})


def _bare(step: Step) -> Step:
    return Step(
        place=step.place,
        at=step.at,
        ops=step.ops,
        judged=step.judged,
        trouble=step.trouble,
        untold=step.untold,
    )


def number(value: float | None, *, counted: bool = False) -> str:
    """Return a number in its shortest useful form; `counted` numbers have no decimals.

    >>> number(0.95), number(12.0), number(1234.5), number(None), number(0.0, counted=True)
    ('0.950', '12', '1,234', '–', '0')
    """
    if value is None:
        return "–"
    if value == int(value) and (counted or abs(value) > 1):
        return f"{int(value):,}"
    return f"{value:.3f}" if abs(value) < 100 else f"{value:,.0f}"


def interval(one: Measured, *, counted: bool = False) -> str:
    """Return a value with its interval.

    >>> interval(Measured(value=0.9, low=0.8, high=1.0))
    '0.900 (0.800 to 1.000)'
    """
    if one.low is None or one.high is None:
        return number(one.value, counted=counted)
    low, high = number(one.low, counted=counted), number(one.high, counted=counted)
    return f"{number(one.value, counted=counted)} ({low} to {high})"
