"""Fuzzers: they run for a minute in the ordinary tests, and for as long as one likes by `make fuzz`."""
