"""The scorecard: a base model and any number of arms made from it, one row each, with changes paired by item."""
