"""`evenhand status`: how far runs have come, told from their directories alone."""
