"""Rules that a run must keep: read from a file, decided by intervals, reported."""
