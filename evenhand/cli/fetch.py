"""`evenhand fetch CONFIG`: everything a config needs from outside, brought to the cache while there is internet."""

from collections.abc import Sequence

from evenhand.checkpoints import load_tokenizer, resolve
from evenhand.cli.command import by_config
from evenhand.config import config_tree
from evenhand.terminal import command_parser, say
from inference.config import InferenceConfig, load_sampling_config
from training.config import load_training_config


def main(argv: Sequence[str]) -> None:
    """Download the models that configs name and check their data, so that compute nodes can work with the hub offline.

    Run it on the login node. The cache is the Hub's (HF_HOME) and Evenhand's (EVENHAND_CACHE); both must be on a disk
    that the compute nodes see. There, set HF_HUB_OFFLINE=1.
    """
    parser = command_parser("fetch", main)
    for words in by_config(parser.parse_args(argv).configs):
        fetch(words)


def fetch(words: Sequence[str]) -> None:
    """Fetch what one config, words[0] with the overrides behind it, names, and print where it lies."""
    path = words[0]
    config = load_training_config(words) if "method" in config_tree(words) else load_sampling_config(words)
    if isinstance(config, InferenceConfig) and not config.is_local:
        say(f"{path}: {config.model.name} is not loaded here; no model to fetch")
    else:
        folder = resolve(config.model)
        load_tokenizer(folder)
        say(f"{path}: model {config.model.name} is at {folder}")
    say(f"{path}: {config.study_key}: {config.study.describe()}")
