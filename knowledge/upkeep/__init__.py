"""Support for runs: groups, conflict sets, counts, watermarks, records of runs."""
