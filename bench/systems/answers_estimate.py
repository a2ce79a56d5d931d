"""The estimated cost of answers: what each system writes, and replies and grades."""

from collections.abc import Sequence

from bench.sets.estimate import (
    ANSWER_TOKENS,
    BLOCK_TOKENS,
    KNOWN_TOKENS,
    Cost,
    Estimate,
    replay_estimate,
    sum_estimates,
)
from bench.sets.set_dialogue import Sample, to_dialogue
from bench.systems.answers import AnswerSetup
from bench.systems.batch import batches
from bench.systems.contestant import WHOLE
from bench.systems.side_by_side import OURS
from souffleur.dialogue import Dialogue
from souffleur.prompts import render
from souffleur.recall.rendering import estimate_tokens

RULE_TOKENS = {"mem0": 8000, "langmem": 1200}
"""Tokens of another system's own prompt; a batch is one request."""
ANSWERS = ("answer", "grade")
"""Names of the requests that a question takes."""


def estimate(drawn: Sequence[Sample], setup: AnswerSetup) -> Estimate:
    """Estimate the cost by name of request."""
    parts = [_writing(to_dialogue(one.conversation), setup) for one in drawn]
    return sum_estimates(parts if setup.write_only else [*parts, _asking(drawn, setup)])


def _writing(dialogue: Dialogue, setup: AnswerSetup) -> Estimate:
    settings = setup.settings
    costs = dict(replay_estimate(dialogue, settings)) if OURS in setup.systems else {}
    for name in RULE_TOKENS.keys() & set(setup.systems):
        parts = list(batches(dialogue, settings.judge_every, settings.window_rule.idle))
        said = sum(
            estimate_tokens(turn.user + turn.assistant) for one in parts for turn in one.turns
        )
        # The words before a batch are shown again with it.
        taken = len(parts) * (RULE_TOKENS[name] + KNOWN_TOKENS) + 2 * said
        costs[name] = Cost(len(parts), taken, len(parts) * ANSWER_TOKENS["episode"])
    return costs


def _asking(drawn: Sequence[Sample], setup: AnswerSetup) -> Estimate:
    names = ("user", "assistant", "now", "memories")
    answer, grade = (
        estimate_tokens(render(name, "en", **dict.fromkeys(names, ""))) for name in ANSWERS
    )
    given, graded = (ANSWER_TOKENS[name] for name in ANSWERS)
    costs = {"answer": Cost(), "grade": Cost()}
    systems = len(setup.systems)
    for part in drawn:
        docs = sum(estimate_tokens(doc.text) for doc in part.conversation.docs)
        blocks = [docs if system == WHOLE else BLOCK_TOKENS for system in setup.systems]
        for question in part.questions:
            said = estimate_tokens(f"{question.text}\n{question.answer}")
            for block in blocks:
                costs["answer"] += Cost(1, said + answer + block, given)
            costs["grade"] += Cost(1, said + grade + systems * given, systems * graded)
    return costs
