"""Importers of files that other programs wrote."""
