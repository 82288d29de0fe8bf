"""A run held against the same run asked again."""
