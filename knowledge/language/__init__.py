"""Words of people: compared, counted, dated, named; no store, no model."""
