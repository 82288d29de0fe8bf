"""Why verdicts flip: a judge sorts the flips that another study found into a codebook of reasoning failures."""
