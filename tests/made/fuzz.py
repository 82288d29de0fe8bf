"""How much is tried of what is drawn by seed: little by default, much with FUZZ=many, as `make test-all` sets it."""

import os
import random

import pytest

IS_MANY = os.environ.get("FUZZ") == "many"
N_EXAMPLES = 500 if IS_MANY else 15  # of each property that hypothesis draws
N_DAMAGED = 600 if IS_MANY else 30  # damaged files of each kind
N_KILLS = int(os.environ.get("KILLS", "40"))  # of each kill campaign, drawn from all places; CI takes fewer
N_FAULTS = int(os.environ.get("EACH", "1"))  # of every other fault


def more_families(*names):
    """Families of models that only `make test-all` takes, as parameters of a test that takes long for each."""
    return [pytest.param(name, marks=pytest.mark.campaign) for name in names]


def draws(name):
    """A generator for each damaged file, the same every time."""
    return (random.Random(f"{name} {number}") for number in range(N_DAMAGED))
