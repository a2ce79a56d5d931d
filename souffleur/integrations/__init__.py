"""Doors for other programs: MCP, LangChain, mem0, Markdown files, imports."""
