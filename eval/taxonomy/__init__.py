"""What the codes of flips mean: which failures are how frequent, and which of them a mitigation removes."""
