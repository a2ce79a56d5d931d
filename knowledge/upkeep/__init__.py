"""What runs need: groups, rivals, counts, due times, records of runs."""
