"""Training on PluralEval's pairs: which of two opinions has more votes, whatever the user believes."""
