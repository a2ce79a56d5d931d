"""The person's own page: what it is made of, and what it shows beyond the plain records."""
