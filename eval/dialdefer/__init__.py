"""DialDefer: verdicts → accuracies, flips, the Dialogic Deference Score; the paper's tables and figures."""
