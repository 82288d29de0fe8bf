"""The Unified Benchmark (DialDefer §3.2.1, appendix A): nine publishers' files → Items → a split without leaks."""
