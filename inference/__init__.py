"""How it is answered: Prompt → Completion."""
