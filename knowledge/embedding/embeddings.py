"""Embeddings: what turns texts into vectors. Those of LangChain have this interface."""

from typing import Protocol


class Embeddings(Protocol):
    """Vectors of documents and of queries, which a model may embed differently."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector per text."""
        ...

    def embed_query(self, text: str) -> list[float]:
        """Return the vector of a query."""
        ...

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector per text."""
        ...

    async def aembed_query(self, text: str) -> list[float]:
        """Return the vector of a query."""
        ...
