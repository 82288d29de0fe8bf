"""Which studies there are, by studies.yaml. Their parts are named there, and loaded only when they are asked for."""

from collections.abc import Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, NamedTuple, TypeVar

from pydantic import TypeAdapter, create_model

from evenhand.errors import ConfigError
from evenhand.files import shipped_yaml
from evenhand.study import StudyRun

Run = TypeVar("Run", bound=StudyRun)


class Builder(NamedTuple):
    """What `evenhand build NAME` does for a study."""

    command: str  # "module:function", which takes the words behind the name
    purpose: str


class Study(NamedTuple):
    """Where a study's parts are, as "module:name"."""

    section: str  # its section of a config: a StudySection
    evaluation: str  # its part of eval: an eval.evaluation.Evaluation
    options: str = ""  # its own options of `score` and the like: a dataclass, with options.yaml beside it; "" for none
    training: str = ""  # its part of training: a training.config.StudyTraining; "" where nothing can be trained on it
    annotation: str = ""  # what people can label: run folders → studies.annotation.tasks.Task; "" for nothing
    items: str = ""  # its datasets as items of a study in YAML: {dataset, split, root} → rows; "" where it has none
    builds: Mapping[str, Builder] = {}


STUDIES: dict[str, Study] = TypeAdapter(dict[str, Study]).validate_python(
    shipped_yaml(Path(__file__).with_name("studies.yaml"))
)


def load_part(key: str, where: str) -> Any:
    """What a study's line names as module:name. Raises ConfigError, naming the study, where that cannot be loaded."""
    try:
        return resolve_name(where)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"evenhand/studies.yaml: study '{key}' names {where}, which cannot be loaded: {error}"
        ) from error


def with_section(base: type[Run], study: str) -> type[Run]:
    """The schema of a run's configs on a study: its section is a required key beside those of every run."""
    fields: dict[str, Any] = {study: (load_part(study, STUDIES[study].section), ...)}
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
