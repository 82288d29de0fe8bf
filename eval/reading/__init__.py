"""A reply → the option that it answers with, or a named state: one reader for all studies."""
