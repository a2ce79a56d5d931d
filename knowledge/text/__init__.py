"""Reading of texts: comparison, numbers, dates, details, thinking. No store, no model."""
