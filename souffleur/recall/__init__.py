"""The whisper: the memories that a host gives its model before a reply."""
