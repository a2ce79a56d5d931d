"""Types for annotations: arguments and results of methods, besides the names of `souffleur`."""

from souffleur.agents.brief import Persona as Persona
from souffleur.agents.thought import Thought as Thought
from souffleur.integrations.importers.files import ImportSource as ImportSource
from souffleur.knowledge.forgetting.topic import TopicPreview as TopicPreview, Trace as Trace
from souffleur.knowledge.knowledge_base import KnowledgeBase as KnowledgeBase
from souffleur.knowledge.memory import (
    Due as Due,
    Evidence as Evidence,
    MemoryState as MemoryState,
    Relation as Relation,
    Source as Source,
    Speaker as Speaker,
)
from souffleur.knowledge.operation import (
    Actor as Actor,
    ActorKind as ActorKind,
    Change as Change,
    Importance as Importance,
    Recorded as Recorded,
    Refusal as Refusal,
    Verdict as Verdict,
)
from souffleur.knowledge.people import Everybody as Everybody
from souffleur.knowledge.policy import DecayRule as DecayRule, Policy as Policy
from souffleur.knowledge.search.periods import Period as Period
from souffleur.knowledge.search.query import Query as Query
from souffleur.knowledge.store.backup import BackupManifest as BackupManifest
from souffleur.knowledge.store.erasing import Erased as Erased
from souffleur.knowledge.store.export import Exported as Exported
from souffleur.knowledge.store.introductions import UserSummary as UserSummary
from souffleur.knowledge.store.topics import Forgotten as Forgotten
from souffleur.knowledge.store.transfer import Imported as Imported
from souffleur.knowledge.turn import Turn as Turn, TurnState as TurnState
from souffleur.lookup import Stats as Stats
from souffleur.participants import Cast as Cast
from souffleur.recall.past import Past as Past
from souffleur.recall.rendering import Reference as Reference
from souffleur.report.quality import Quality as Quality
from souffleur.service.run import RunItem as RunItem, RunLimits as RunLimits
