"""Speed, as ratios measured side by side in one run; `make bench` prints them. Nothing here is asserted."""
