"""A program that uses mem0's published client; its address is the first argument."""

import sys

from mem0 import MemoryClient  # type: ignore[import-not-found]

client = MemoryClient(api_key="any", host=sys.argv[1])
(added,) = client.add("Eve loves hiking.", user_id="eve", infer=False, metadata={"topic": "sport"})[
    "results"
]
kept = added["id"]
assert client.add([{"role": "user", "content": "Nothing."}], user_id="eve") == {"results": []}
(found,) = client.search("hiking", filters={"user_id": "eve"}, top_k=1)["results"]
assert (found["id"], found["metadata"]) == (kept, {"topic": "sport"})
listed = client.get_all(filters={"user_id": "eve"}, page=1, page_size=2)
assert (listed["count"], listed["next"]) == (1, None)
assert client.update(kept, text="Eve loves climbing.")["memory"] == "Eve loves climbing."
client.batch_update([{"memory_id": kept, "text": "Eve climbs."}])
assert client.get(kept)["memory"] == "Eve climbs."
assert [one["event"] for one in client.history(kept)] == ["ADD", "UPDATE", "UPDATE"]
assert "eve" in [one["name"] for one in client.users()["results"]]
client.delete(kept)
client.delete_all(user_id="eve")
assert client.get_all(filters={"user_id": "eve"})["results"] == []
client.delete_users(user_id="eve")
assert "eve" not in [one["name"] for one in client.users()["results"]]
print("done")
