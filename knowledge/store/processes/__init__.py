"""What several processes at one store agree on: the order of turns, and who judges whom."""
