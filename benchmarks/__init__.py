"""What is asked: sources → Item → Prompt."""
