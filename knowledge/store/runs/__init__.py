"""Records of runs: their results, the watermarks of jobs, and the spending."""
