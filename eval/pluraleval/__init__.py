"""What runs of the PluralEval study mean."""
