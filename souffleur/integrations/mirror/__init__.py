"""The mirror: a user's memories as MEMORY.md and LEARNINGS.md, which can be edited by hand."""
