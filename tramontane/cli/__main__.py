"""``python -m tramontane.cli`` is ``tramontane``, too."""

from tramontane.cli import main

if __name__ == "__main__":
    main()
