"""`python -m tacita`: the command line, where the command is not on the path."""

from tacita.cli import main

if __name__ == "__main__":
    main()
