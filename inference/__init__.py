"""How it is answered: Prompt → Completion.

A study hands over prompts and nothing else; what its factors mean is not known here (CONTRIBUTING.md). It gets:

- a run directory (sampling.py): plan.jsonl with every prompt's factors and answer space, completions, DONE.json last;
- prompts asked in the order of their texts, and each item's in one shard, so that shared beginnings are computed once;
- verdict "answer": sampling.n replies as free text; verdict "options": the exact log-probability of every option of a
  prompt's answer_space, at the sampling temperature (options.py says of what; not from a server);
- items with a prompt over the context window left out whole, in excluded/ (evenhand.completions reads it).
"""
