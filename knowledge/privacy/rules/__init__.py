"""The rules by which sensitive data is found, each with an example of what it masks."""
