"""Reading of texts: comparison, numbers, dates, details, thinking. No store and no model."""
