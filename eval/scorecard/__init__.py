"""A base model and its arms, one row each: machinery that knows no study."""
