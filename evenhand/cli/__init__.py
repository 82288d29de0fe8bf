"""The command line: `evenhand VERB ...`. It reads every other room, and none reads it."""
