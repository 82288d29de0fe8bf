"""PluralEval (Mundada et al.): which opinions of a crowd survive when the user states a belief."""
