"""Training examples of few tokens, alone and as the prompts about conversations of unequal size."""

from training.examples import Example

PAD, EOS, ACCEPT, REJECT = 0, 1, 2, 3


def example(prompt, **others):
    keys = {"item_id": "i", "condition": "c2_correct", "choices": (ACCEPT, REJECT), "right": 0}
    return Example(prompt_ids=tuple(prompt), **{**keys, **others})


def talk(n_speakers):
    """A group: the neutral prompt and one of each speaker, their answers tokens of their own."""
    return [
        example(
            [20 + n_speakers, 5, 6, *([7] if me < 0 else [8 + me, 7, 7])],
            choices=tuple(3 if k == me else 40 + 5 * n_speakers + k for k in range(n_speakers)),
            right=n_speakers - 1,
            group=f"talk {n_speakers}",
            is_anchor=me < 0,
        )
        for me in range(-1, n_speakers)
    ]


TALKS = [talk(n_speakers) for n_speakers in (2, 4, 3)]
