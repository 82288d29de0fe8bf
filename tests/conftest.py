"""What holds for all tests: none asks a hub, and slow ones run after the others."""

import os

import pytest
from hypothesis import settings

from evenhand.machine import gpus, torch_cuda_build

# Before anything imports huggingface_hub or vllm, which read these once.
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["VLLM_NO_USAGE_STATS"] = "1"
# Where torch has no GPU to compute on, tests mean the CPU; evenhand.device would refuse it beside an idle GPU.
if torch_cuda_build() is None or not gpus():
    os.environ["CUDA_VISIBLE_DEVICES"] = ""

# hypothesis fails an example that takes 0.2 s, which on a busy machine says nothing about the code.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: item.get_closest_marker("slow") is not None)
