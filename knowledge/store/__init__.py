"""The store of memories and journal: opening, backup, export, import, repair and erasing."""
