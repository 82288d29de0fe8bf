"""`evenhand fetch CONFIG`: everything a config needs from outside, brought to the cache while there is internet."""

from collections.abc import Sequence

from evenhand.checkpoints import ModelConfig, load_tokenizer, resolve
from evenhand.config import by_config, config_tree, parse_config
from evenhand.errors import ConfigError
from evenhand.registry import section_class, study_in
from evenhand.terminal import command_parser, say


def main(argv: Sequence[str]) -> None:
    """Download the models that configs name and check their data, so that compute nodes can work with the hub offline.

    Run it on the login node. The cache is the Hub's (HF_HOME) and Evenhand's (EVENHAND_CACHE); both must be on a disk
    that the compute nodes see. There, set HF_HUB_OFFLINE=1.
    """
    parser = command_parser("fetch", main)
    parser.add_argument(
        "configs", nargs="+", metavar="CONFIG [key=value ...]", help="of sampling or training, with overrides"
    )
    for words in by_config(parser.parse_args(argv).configs):
        fetch(words)


def fetch(words: Sequence[str]) -> None:
    """Fetch what one config, words[0] with the overrides behind it, names, and print where it lies."""
    tree, path = config_tree(words), words[0]
    if "model" not in tree:
        raise ConfigError(f"{path}: names no `model`; fetch takes sampling and training configs")
    model = parse_config(ModelConfig, tree["model"], f"{path}: model")
    engine = tree.get("engine")
    if isinstance(engine, dict) and engine.get("kind") in ("openai", "recorded"):
        say(f"{path}: {model.name} is not loaded here; no model to fetch")
    else:
        folder = resolve(model)
        load_tokenizer(folder)
        say(f"{path}: model {model.name} is at {folder}")
    key = study_in(tree, path)
    study = parse_config(section_class(key), tree[key], f"{path}: {key}")
    say(f"{path}: {key}: {study.describe()}")
