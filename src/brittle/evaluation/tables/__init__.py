"""Scores as tables: their rows and columns, and how they are printed."""
