"""Files of verdicts from anywhere → judges and scores."""
