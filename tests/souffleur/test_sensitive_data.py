"""What the settings say about sensitive data: masked before it is stored, refused, or kept."""

from pathlib import Path

import pytest

from souffleur import Souffleur
from souffleur.errors import SettingsError
from souffleur.knowledge.operation import Refusal
from souffleur.knowledge.privacy.groups import Group
from souffleur.settings import Settings, check_settings

PASSWORD, CARD, PHONE = "hunter2024!", "4111 1111 1111 1111", "+44 7700 900123"
SAID = f"The wifi password is {PASSWORD}, my card is {CARD}, call me on {PHONE}."


async def _bytes_after(settings: Settings) -> bytes:
    """Return all bytes of a store after a turn that was observed twice."""
    async with Souffleur.open(settings) as memory:
        told = memory.observe(user_id="ann", session_id="s", turn_id="1", user=SAID)
        assert told.new
        assert told.durable
        again = memory.observe(user_id="ann", session_id="s", turn_id="1", user=SAID)
        assert not again.new
    return b"".join(one.read_bytes() for one in settings.folder.rglob("*") if one.is_file())


async def test_nothing_on_disk_holds_a_redacted_secret(tmp_path: Path) -> None:
    """By default no file of the store has the password or the card; the other words stay."""
    stored = await _bytes_after(Settings(path=tmp_path))
    assert b"hunter2024" not in stored
    assert CARD.encode() not in stored
    assert b"The wifi password is [secret], my card is [secret], call me on +44" in stored


async def test_what_is_only_refused_is_stored_as_it_was_said(tmp_path: Path) -> None:
    """With `refuse` the raw turn holds it; with `redact` for contacts no number is there."""
    stored = await _bytes_after(
        Settings(path=tmp_path, redact=("contacts",), refuse=("secrets", "documents"))
    )
    assert f"The wifi password is {PASSWORD}, my card is {CARD}".encode() in stored
    assert PHONE.encode() not in stored


async def test_what_is_kept_is_remembered_and_found(tmp_path: Path) -> None:
    """With `keep` a password is a memory like any other, and raw turns show it."""
    async with Souffleur.open(Settings(path=tmp_path, redact=("documents",))) as memory:
        (entry,) = await memory.remember(f"The wifi password is {PASSWORD}", user_id="ann")
        memory.observe(user_id="ann", session_id="s", user=SAID)
        await memory.flush()
        past = await memory.ask("wifi password", user_id="ann", session_id="t")
    assert not entry.refused
    assert PASSWORD in repr(past)
    assert CARD not in repr(past)


async def test_contact_data_may_be_refused(tmp_path: Path) -> None:
    """With `refuse` no memory holds a number, raw turns are shown without it."""
    settings = Settings(path=tmp_path, redact=(), refuse=("contacts",))
    async with Souffleur.open(settings) as memory:
        (entry,) = await memory.remember(f"Ann's number is {PHONE}", user_id="ann")
        memory.observe(user_id="ann", session_id="s", user=SAID)
        await memory.flush()
        past = await memory.ask("call me", user_id="ann", session_id="t")
    assert (entry.refused, entry.detail) == (Refusal.SENSITIVE, "it holds a telephone number")
    assert PHONE not in repr((entry, past))
    assert CARD in repr(past)


def test_each_group_has_its_setting() -> None:
    """Secrets and documents are redacted by default, contact data is kept."""
    assert Settings().redacted == Settings().withheld == {Group.SECRET, Group.DOCUMENT}
    refused = Settings(redact=("secrets", "contacts"), refuse=("secrets",))
    assert refused.redacted == {Group.CONTACT}
    assert refused.withheld == {Group.SECRET, Group.CONTACT}
    with pytest.raises(SettingsError, match="SOUFFLEUR_REDACT"):
        check_settings({"redact": "passwords"})
