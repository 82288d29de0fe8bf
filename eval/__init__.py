"""What answers mean: Completion → Verdict → metric → table, plot, report."""
