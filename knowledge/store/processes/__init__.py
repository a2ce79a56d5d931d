"""Coordination of several processes at a store: the order of turns, and the leases of users."""
