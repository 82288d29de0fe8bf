"""DialDefer: the same claim as a statement (C1) and as a speaker's turn (C2)."""
