"""The interface of mem0's client and of its open server, over the same memories."""
