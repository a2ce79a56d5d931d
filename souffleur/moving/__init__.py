"""Moving: what comes from elsewhere, by the kind of its file."""
