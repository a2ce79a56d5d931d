"""Speed: the times that a host waits, beside other systems in the same run."""
