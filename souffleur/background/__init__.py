"""Background work: judging, episodes, portraits, upkeep."""
