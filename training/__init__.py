"""How the judge changes: Item → example → adapter → merged checkpoint."""
