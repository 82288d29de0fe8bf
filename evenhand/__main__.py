"""`python -m evenhand VERB ...`, which is `evenhand VERB ...`."""

from evenhand.cli.command import main

if __name__ == "__main__":  # vLLM spawns workers that import this file again
    main()
