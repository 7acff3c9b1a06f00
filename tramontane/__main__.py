"""``python -m tramontane`` is ``tramontane``."""

from tramontane.cli import main

if __name__ == "__main__":
    main()
