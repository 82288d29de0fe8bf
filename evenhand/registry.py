"""Which studies there are, one line each. Their parts are named here, and loaded only when they are asked for."""

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any, NamedTuple, TypeVar

from pydantic import create_model

from evenhand.errors import ConfigError
from evenhand.study import StudyRun, StudySection

Run = TypeVar("Run", bound=StudyRun)


class Builder(NamedTuple):
    """What `evenhand build NAME` does for a study."""

    command: str  # "module:function", which takes the words behind the name
    purpose: str


class Study(NamedTuple):
    """Where a study's parts are, as "module:name"."""

    section: str  # its section of a config: a StudySection
    evaluation: str  # its part of eval: an eval.evaluation.Evaluation
    options: str = ""  # its own options of `score` and the like: a dataclass of eval.options.word; "" for none
    training: str = ""  # its part of training: a training.config.StudyTraining; "" where nothing can be trained on it
    annotation: str = ""  # what people can label of its runs: run folders → eval.annotation.tasks.Task; "" for nothing
    items: str = ""  # its datasets as items of a study in YAML: {dataset, split, root} → rows; "" where it has none
    builds: Mapping[str, Builder] = {}


STUDIES: dict[str, Study] = {
    "dialdefer": Study(
        section="studies.dialdefer.section:DialDeferSection",
        evaluation="studies.dialdefer.evaluation:EVALUATION",
        options="studies.dialdefer.options:DialDeferOptions",
        training="studies.dialdefer.training:TRAINING",
        items="studies.dialdefer.datasets:rows_of",
        builds={
            "unified": Builder(
                "studies.dialdefer.unified.command:main",
                "nine QA datasets and r/AIO's contexts, from their publishers' files or the authors' release",
            ),
            "aio": Builder(
                "studies.dialdefer.aio.command:main",
                "r/AIO with its dialogues, from Reddit's screenshots, stage by stage",
            ),
            "flips": Builder(
                "studies.dialdefer.flips:main",
                "verdicts that differ between two framings, or before and after training, with their reasons",
            ),
        },
    ),
    "narrator": Study(
        section="studies.narrator.section:NarratorSection",
        evaluation="studies.narrator.evaluation:EVALUATION",
        options="studies.narrator.options:NarratorOptions",
        training="studies.narrator.training:TRAINING",
        builds={"narrator": Builder("studies.narrator.build:main", "Wikipedia conflicts, from ConvoKit's dump")},
    ),
    "pluraleval": Study(
        section="studies.pluraleval.section:PluralEvalSection",
        evaluation="studies.pluraleval.evaluation:EVALUATION",
        options="studies.pluraleval.options:PluralEvalOptions",
        annotation="studies.pluraleval.annotation:tasks",
        training="studies.pluraleval.training:TRAINING",
        builds={
            "wildscope": Builder(
                "studies.pluraleval.wildscope:main",
                "threads of scored comments, from Pushshift's dumps of Reddit",
            ),
            "references": Builder(
                "studies.pluraleval.build_references:main",
                "reference sets of opinions, from a finished run of the stage `references`",
            ),
        },
    ),
    "framing": Study(
        section="studies.framing.section:FramingSection",
        evaluation="studies.framing.evaluation:EVALUATION",
        training="studies.framing.training:TRAINING",
    ),
    "taxonomy": Study(
        section="studies.taxonomy.section:TaxonomySection",
        evaluation="studies.taxonomy.evaluation:EVALUATION",
        annotation="studies.taxonomy.annotation:tasks",
    ),
}


def section_class(key: str) -> type[StudySection]:
    """The config section of a study."""
    section: type[StudySection] = load_part(key, STUDIES[key].section)
    return section


def load_part(key: str, where: str) -> Any:
    """What a study's line names as module:name. Raises ConfigError, naming the study, where that cannot be loaded."""
    try:
        return resolve_name(where)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"evenhand/registry.py: study '{key}' names {where}, which cannot be loaded: {error}"
        ) from error


def with_section(base: type[Run], study: str) -> type[Run]:
    """The schema of a run's configs on a study: its section is a required key beside those of every run."""
    fields: dict[str, Any] = {study: (section_class(study), ...)}
    schema = create_model(base.__name__, __base__=base, __doc__=base.__doc__, __module__=base.__module__, **fields)
    schema.study_key = study
    return schema


def study_in(tree: Mapping[str, Any], where: str) -> str:
    """The one study whose section a config holds. Raises ConfigError for none, and for several."""
    keys = [key for key in STUDIES if tree.get(key) is not None]
    if len(keys) == 1:
        return keys[0]
    many = f"has sections of {' and '.join(keys)}; a run is of one study" if keys else "names no study"
    raise ConfigError(f"{where}: {many}. The sections are: {', '.join(STUDIES)}")
