"""Training on DialDefer's items: verdicts on the same claim as a statement and as a speaker's turn."""
