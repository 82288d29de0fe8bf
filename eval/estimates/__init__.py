"""Statistics that every study shares: resampling, tests, comparability of two runs."""
