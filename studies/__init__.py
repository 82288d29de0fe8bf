"""What is asked: one folder a study, from its sources to the prompts of each unit."""
