"""The narrator study: what its judges' answers mean. Replies → options → M, Δ, PR, FAR, corruption, tables, figures."""
