"""`python -m sfp` is `sfp`."""

from sfp.cli import main

if __name__ == "__main__":
    main()
