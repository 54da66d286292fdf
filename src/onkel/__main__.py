"""`python -m onkel`: the command line."""

from onkel.cli import main

if __name__ == "__main__":
    main()
