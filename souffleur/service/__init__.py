"""The background work: judging, episodes, portraits, and the scheduled runs."""
