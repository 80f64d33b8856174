"""One self-contained HTML page about how image classifiers break."""
