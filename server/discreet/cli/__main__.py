"""`python -m discreet.cli`: the command line without its console script."""

from discreet.cli import main

if __name__ == "__main__":
    main()
