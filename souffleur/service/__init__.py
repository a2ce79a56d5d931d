"""What runs behind the talk: judging, episodes, portraits, and the runs at their times."""
