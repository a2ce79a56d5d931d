"""Clients of `souffleur serve`: the methods of Souffleur, over HTTP or the owner's socket."""

from souffleur.client.clients import AsyncClient, Client

__all__ = ["AsyncClient", "Client"]
