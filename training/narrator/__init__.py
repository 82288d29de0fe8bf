"""Training on conversations of the narrator study: groups of prompts that should blame one person."""
