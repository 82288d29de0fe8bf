"""Runs as they are read back."""

from eval.evaluation import evaluation_of
from eval.options import Options
from eval.results import judges_of, load_runs
from evenhand.completions import read_answers


def completions_of(path):
    """(prompt hash, sample index) → the completion that counts."""
    return {(hash_, one.sample_index): one for hash_, of in read_answers(path).replies.items() for one in of}


def read_run(study, path):
    """One run, as its study reads it."""
    evaluation = evaluation_of(study)
    (judge,) = judges_of(evaluation, load_runs(evaluation, [path]), Options()).values()
    return judge
