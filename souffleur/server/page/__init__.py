"""The person's own page: its files, and the data it shows beyond the plain records."""
