"""Due times that an older version stored, computed anew by the rules in force."""

from souffleur.knowledge import decay
from souffleur.knowledge.policy import Policy
from souffleur.knowledge.store import codecs as memory_codec
from souffleur.knowledge.store.engine.collection import Payload, Point


def renewed(point: Point, policy: Policy) -> Payload:
    """Return the due time of a memory if it has another one by now; else nothing.

    Content, value and revision stay as they are. Raises UnreadableError.
    """
    old = memory_codec.to_memory(point)
    new = decay.scheduled(old, policy)
    return {} if new == old else new.model_dump(mode="json", include={"due_at", "due_for"})
