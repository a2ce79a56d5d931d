"""How fast it is: timings, bars, other systems in the same run, what a host needs."""
