"""By how much conditions move a judge, and the answer to whether they do."""
