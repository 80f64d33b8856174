"""Scores, ranks and tables of slides: CNS-Bench and sets like it."""
