"""`evenhand show NAME`: the exact prompt a model would get, chat template applied, token count beside it."""

from collections.abc import Sequence
from pkgutil import resolve_name

from evenhand.errors import ConfigError
from studies.registry import STUDIES


def main(argv: Sequence[str]) -> None:
    """Hand over to the study that has the dataset or corpus named; it may stand behind options."""
    names = {
        name: module for study in STUDIES.values() for module in [resolve_name(study.show)] for name in module.names()
    }
    found = [word for word in argv if word in names]
    if found:
        names[found[0]].main(argv)
        return
    listed = "\n".join(
        f"  {key:<12}{', '.join(sorted(resolve_name(study.show).names()))}" for key, study in STUDIES.items()
    )
    usage = (
        f"usage: evenhand show NAME [options]\n\nThe prompts of one item as a model will read them.\n\n{listed}\n\n"
        "`evenhand show NAME --help` lists the options of its study."
    )
    if {"-h", "--help"} & set(argv):
        print(usage)
        raise SystemExit(0)
    raise ConfigError(f"no dataset is named.\n{usage}" if not argv else f"'{argv[0]}' is no dataset.\n{usage}")
