"""The proxy: an OpenAI-compatible endpoint that adds a memory to the one behind it."""
