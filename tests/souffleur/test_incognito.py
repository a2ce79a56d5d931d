"""A canary: what is said incognito is in no file, no log line and no answer."""

from pathlib import Path

from loguru import logger

from tests.place import SERVER, bytes_below
from tests.scripted import SKIP
from tests.stage import staged

CANARY = "zanzibar-canary"


async def test_no_trace_of_the_words(tmp_path: Path) -> None:
    """By call or by preference, with all log lines on: the bytes on disk never hold the words."""
    lines: list[str] = []
    logger.enable("souffleur")
    sink = logger.add(lines.append, level=0)
    try:
        async with staged(tmp_path, lambda _: SKIP, kept=True) as stage:
            memory, who = stage.memory, {"user_id": "ann", "session_id": "s1"}
            await stage.say("plainly-said")
            for preferred in (False, True):
                await memory.set_preferences(user_id="ann", incognito=preferred)
                once = not preferred
                whisper = await memory.recall(**who, text=CANARY, incognito=once)
                receipt = memory.observe(
                    **who, user=CANARY, assistant=CANARY, whisper=whisper, incognito=once
                )
                assert (whisper.text, receipt.new) == ("", False)
                await memory.flush()
            assert all(
                CANARY not in request.messages[-1].content for request in stage.chat.requests
            )
    finally:
        logger.remove(sink)
        logger.disable("souffleur")
    kept = bytes_below(tmp_path)
    assert SERVER or b"plainly-said" in kept
    assert CANARY.encode() not in kept
    assert CANARY not in "".join(lines)
