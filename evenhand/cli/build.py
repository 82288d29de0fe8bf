"""`evenhand build NAME`: what a study reads, written to a folder."""

from collections.abc import Sequence
from pkgutil import resolve_name

from evenhand.errors import ConfigError
from evenhand.registry import STUDIES


def main(argv: Sequence[str]) -> None:
    """Hand over to the builder that is named first."""
    builders = {name: builder for study in STUDIES.values() for name, builder in study.builds.items()}
    listed = "\n".join(f"  {name:<12}{builder.purpose}" for name, builder in builders.items())
    usage = (
        f"usage: evenhand build {{{','.join(builders)}}} --out FOLDER ...\n\n{listed}\n\n"
        f"`evenhand build {next(iter(builders))} --help` and the like explain more."
    )
    name, *rest = argv or [""]
    if name in builders:
        resolve_name(builders[name].command)(rest)
    elif name in ("-h", "--help"):
        print(usage)
        raise SystemExit(0)
    else:
        raise ConfigError(f"nothing is called '{name}'.\n{usage}" if name else usage)
