"""The turns of points, masked for who searches."""

from souffleur.knowledge.privacy.groups import Group
from souffleur.knowledge.store.codecs import masked_reader, to_turn, turn_point
from souffleur.knowledge.store.engine.points import bare
from souffleur.knowledge.turn import Turn
from tests.build import NOW

SAID = "my password is tea4two!2024, write to ann@example.org"


def test_a_turn_is_masked_for_each_choice_of_groups() -> None:
    """Whoever read a point before, each reader masks its own groups, and the point stays whole."""
    turn = Turn(id="1", turn_id="t", user_id="ann", session_id="s", at=NOW, user=SAID)
    point = bare("1", turn_point(turn).payload, {})
    secrets, contacts = ({Group.SECRET}, {Group.CONTACT})
    read = [masked_reader(groups)(point).user for groups in (secrets, secrets, contacts, secrets)]
    without_secret = "my password is [secret], write to ann@example.org"
    without_contact = "my password is tea4two!2024, write to [secret]"
    assert read == [without_secret, without_secret, without_contact, without_secret]
    assert to_turn(point) == turn
