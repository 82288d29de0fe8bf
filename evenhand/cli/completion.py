"""`evenhand completion`: a shell's words on TAB: verbs, their options, configs that come along."""

from collections.abc import Sequence
from pathlib import Path

from evenhand.cli.command import VERBS
from evenhand.config import CONFIGS
from evenhand.terminal import command_parser, say
from studies.markdown import filled


def main(argv: Sequence[str]) -> None:
    """Print what bash and zsh need to complete evenhand's words; once and for all: eval "$(evenhand completion)"."""
    command_parser("completion", main).parse_args(argv)
    configs = sorted(path.relative_to(CONFIGS).with_suffix("").as_posix() for path in CONFIGS.glob("*/*.yaml"))
    say(filled(Path(__file__).with_name("completion.j2"), verbs=" ".join(VERBS), configs=" ".join(configs)).rstrip())
