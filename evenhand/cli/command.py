"""`evenhand VERB ...`: one console command. What a verb needs is imported only when it is called."""

import gc
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from pkgutil import resolve_name

from evenhand.errors import ConfigError
from evenhand.files import shipped_yaml
from evenhand.terminal import run_main

VERBS: Mapping[str, Mapping[str, str]] = shipped_yaml(Path(__file__).with_name("verbs.yaml"))


def entry_of(verb: str) -> Callable[[Sequence[str]], None]:
    """The function that takes a verb's words."""
    entry: Callable[[Sequence[str]], None] = resolve_name(VERBS[verb]["entry"])
    return entry


def usage() -> str:
    """The command's help text."""
    verbs = "\n".join(f"  {name:<11}{verb['purpose']}" for name, verb in VERBS.items())
    return (
        "usage: evenhand VERB [arguments]\n\n"
        "Does a language-model judge bend to who is speaking? Measure it, train it out, measure again.\n\n"
        f"{verbs}\n\n"
        "`evenhand VERB --help` explains one verb. A config is a YAML file, or one that comes along:\n"
        "pocket, or FOLDER/NAME. key=value words override single keys."
    )


def by_config(words: Sequence[str]) -> list[list[str]]:
    """Each config with the key=value words behind it. Raises ConfigError for such words before any config."""
    configs: list[list[str]] = []
    for word in words:
        if "=" not in word or os.path.exists(word):  # noqa: PTH110  # Path.exists raises for a long word
            configs.append([word])
        elif configs:
            configs[-1].append(word)
        else:
            raise ConfigError(f"'{word}' stands before any config; key=value words belong to the config before them")
    return configs


def main() -> None:
    """The console command."""
    verb, *arguments = sys.argv[1:] or [""]
    if verb in ("", "-h", "--help", "help", "--version"):
        text = f"evenhand {version('evenhand')}" if verb == "--version" else usage()
        code = run_main(lambda _: print(text, flush=True), arguments)  # whose reader may be `head`
        sys.exit(code if verb else 2)
    if verb not in VERBS:
        from evenhand.config import did_you_mean  # loads pydantic, which `evenhand --help` does without

        print(f"error: unknown verb '{verb}'. {did_you_mean(verb, list(VERBS))}", file=sys.stderr)
        sys.exit(2)
    gc.set_threshold(50_000)  # cycles are rare in what a verb makes; at 700 looking for them takes 6 % of a small score
    sys.exit(run_main(entry_of(verb), arguments))
