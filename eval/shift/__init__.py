"""By how much framings move a judge, and the answer to whether they do."""
