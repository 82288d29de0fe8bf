"""What there is to say of some runs of DialDefer, as the verbs find it."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from eval.dialdefer.evaluation import EVALUATION, Findings


def made_findings(paths: Sequence[Path], options: argparse.Namespace, *, is_before_after: bool = True) -> Findings:
    """The first run is the base."""
    return EVALUATION.find(paths, options, is_before_after=is_before_after)
