"""`python -m brittle` is the command line."""

from brittle.cli import main

if __name__ == "__main__":
    main()
