"""Dialogue files and their replay; the shipped dialogue, its recorded answers and its story."""
