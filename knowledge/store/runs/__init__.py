"""Records of runs: results, until when each job is done, spending."""
