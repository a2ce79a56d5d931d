"""Text analysis: comparison, terms, numbers, dates, names. No store, no model."""
