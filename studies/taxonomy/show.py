"""The flip taxonomy's part of `evenhand show`: the prompt about a flip of ours, or of a folder."""

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from evenhand.errors import DataError
from evenhand.terminal import say
from studies.flips import KIND, read_flips
from studies.taxonomy.own_flips import DATASET, own_flips
from studies.taxonomy.section import prompt_of


def names() -> Iterable[str]:
    """What this study shows."""
    return (DATASET, KIND)


def main(argv: Sequence[str]) -> None:
    """Print the judge's prompt about one flip: the codebook and the decision rules, then the flip."""
    parser = argparse.ArgumentParser(
        prog="evenhand show", description=main.__doc__, epilog=f"example: evenhand show {DATASET}"
    )
    parser.add_argument("dataset", choices=sorted(names()))
    parser.add_argument("--flip", help="the flip's id; the first one when left out")
    parser.add_argument("--root", type=Path, help=f"a folder of `evenhand build {KIND}`, for {KIND}")
    words = parser.parse_args(argv)
    if (words.dataset == KIND) != (words.root is not None):
        raise DataError(f"--root goes with {KIND}, which need it")
    found = read_flips(words.root) if words.root else own_flips()
    flip = next((flip for flip in found if words.flip in (None, flip.flip_id)), None)
    if flip is None:
        like = f"; the ids look like '{found[0].flip_id}'" if found else ""
        raise DataError(f"there is no flip '{words.flip or ''}'{like}")
    prompt = prompt_of(flip)
    text = "\n\n".join(f"[{message.role}]\n{message.content}" for message in prompt.messages)
    say(f"=== {flip.flip_id} · {flip.direction} · prompt {prompt.prompt_hash} ===\n{text}")
