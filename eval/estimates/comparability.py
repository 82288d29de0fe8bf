"""What differs between two runs beside the model: a change means nothing when the question changed too."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eval.runs import SampledRun, patch_settings
from evenhand.errors import DataError
from evenhand.files import shipped_yaml
from evenhand.run_directory import FREE_ENGINE_KEYS

ABSENT = "not set"
KEYS = shipped_yaml(Path(__file__).with_suffix(".yaml"))  # free, mild, patch


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing in which two runs differ. A serious one makes their comparison one of two experiments."""

    what: str
    base: str
    after: str
    serious: bool

    def __str__(self) -> str:
        return f"{self.what}: {self.base} before, {self.after} after"


def differences(base: SampledRun, after: SampledRun, stated_keys: Sequence[str] = ()) -> list[Difference]:
    """All differences in prompts, rendering, config and software, the serious ones first.

    Two patches ask in other words, which is what they are for, and behind other replies stand other prompts: then the
    texts are not held against each other. Only its thinking renders one prompt in another way.
    mild: config keys of the study's own that say which prompts were asked; what both were asked is compared.
    """
    ours, theirs = (patch_settings(run.config) for run in (base, after))
    unlike = {key for key, *_ in unlike_leaves(ours, theirs)}
    is_patched = bool(unlike & {"system", "reminder", "statement_first"}) or "statement_first" in ours
    all_differences = [
        *prompt_differences(base, after, is_patched=is_patched),
        *(() if "thinking" in unlike else rendering_differences(base, after)),
        *config_differences(base.config, after.config, (*stated_keys, *KEYS["patch"])),
        *provenance_differences(base.provenance, after.provenance),
    ]
    return sorted(all_differences, key=lambda difference: not difference.serious)


def check_comparable(base: str, of_runs: Mapping[str, Sequence[Difference]], reasons: Sequence[str] = ()) -> None:
    """Raises DataError with every serious difference from the base.

    of_runs: what a run is called → in what it differs; reasons: further ones, in words.
    """
    if lines := [*reasons, *differing(of_runs, is_serious=True)]:
        raise DataError(
            "\n  ".join([f"these runs differ from {base} in more than the model and its patch:", *lines])
            + "\n  Sample all of them alike, or say --allow-differences; the result then states them."
        )


def prompt_differences(base: SampledRun, after: SampledRun, *, is_patched: bool) -> Iterator[Difference]:
    """Prompts that stand for the same item, condition and factors and are not the same text.

    is_patched: another text is meant.
    """
    ours, theirs = (
        {(p.dataset, p.item_id, p.condition, p.factors): p.prompt_hash for p in run.plan} for run in (base, after)
    )
    shared = ours.keys() & theirs.keys()
    if not shared:
        yield Difference("planned prompts", f"{len(ours)}", f"{len(theirs)}, none of them for the same item", True)
    changed = [] if is_patched else sorted(key[1] for key in shared if ours[key] != theirs[key])
    if changed:
        first = ", ".join(dict.fromkeys(changed[:5]))
        yield Difference(f"the words of {len(changed)} of {len(shared)} prompts ({first})", "one text", "another", True)


def rendering_differences(base: SampledRun, after: SampledRun) -> Iterator[Difference]:
    """Prompts that the two tokenizers' chat templates rendered differently."""
    shared = base.rendered.keys() & after.rendered.keys()
    n_changed = sum(base.rendered[key] != after.rendered[key] for key in shared)
    if n_changed:
        what = f"what the chat template made of {n_changed} of {len(shared)} prompts"
        yield Difference(what, "one text", "another", True)


def config_differences(
    base: Mapping[str, Any], after: Mapping[str, Any], stated_keys: Sequence[str] = ()
) -> Iterator[Difference]:
    """Config keys with different values, but for those that are meant to differ."""
    mild = (*FREE_ENGINE_KEYS, *KEYS["mild"], *stated_keys)
    for key, ours, theirs in unlike_leaves(base, after):
        is_root = key.endswith((".root", ".file"))  # where data lie: their items' own hash tells more than the path
        if not is_root and not f"{key}.".startswith(tuple(f"{free}." for free in KEYS["free"])):
            yield Difference(key, shown(ours), shown(theirs), serious=key not in mild)


def provenance_differences(base: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[Difference]:
    """Items, package versions, device and code; only other items are serious."""
    for key, ours, theirs in unlike_leaves(base, after):
        if key == "item_set_hash" or key.startswith(("packages.", "device", "code.commit")):
            yield Difference(key.removeprefix("packages."), str(ours), str(theirs), serious=key == "item_set_hash")


def judge_differences(base: SampledRun, after: SampledRun, judged: Sequence[str]) -> Iterator[Difference]:
    """What the runs of a judge differ in, of which another judge or prompt is serious. judged: config keys that say
    what it judged, which is meant to differ.
    """
    unlike = unlike_leaves(judge_facts(base), judge_facts(after))
    differing = [Difference(name, ours, theirs, serious=True) for name, ours, theirs in unlike]
    differing += config_differences(base.config, after.config, judged)
    differing += provenance_differences(base.provenance, after.provenance)
    for difference in differing:
        if difference.what not in (*judged, "item_set_hash"):
            yield replace(difference, what=f"the judge's {difference.what}")


def judge_facts(run: SampledRun) -> dict[str, str]:
    """What makes a judge the same judge."""
    model, facts = run.config["model"], dict(run.provenance.get("model") or {})
    versions = {str(dict(prompt.factors).get("template_version")) for prompt in run.plan}
    return {
        "model": str(model.get("name")),
        "revision": str(facts.get("checkpoint_hash") or facts.get("revision") or model.get("revision")),
        "prompt version": ", ".join(sorted(versions)),
    }


def unlike_leaves(base: Any, after: Any) -> Iterator[tuple[str, Any, Any]]:
    """(key, value there, value here) of each leaf that two trees have not alike; ABSENT where one lacks it."""
    ours, theirs = flattened(base), flattened(after)
    for key in dict.fromkeys([*ours, *theirs]):
        if (pair := (ours.get(key, ABSENT), theirs.get(key, ABSENT)))[0] != pair[1]:
            yield key, *pair


def one_checkpoint(base: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """The checkpoint that two runs have both sampled, by their provenance; "" for two, and where that is unknown."""
    ours = sampled_checkpoint(base)
    return ours if ours and ours == sampled_checkpoint(after) else ""


def sampled_checkpoint(provenance: Mapping[str, Any]) -> str | None:
    """The hash of the checkpoint that a run sampled; None where a server does not tell it."""
    model: Mapping[str, Any] = provenance.get("model") or {}
    return model.get("checkpoint_hash")


def flattened(tree: Any, prefix: str = "") -> dict[str, Any]:
    """ "a.b[0].c" → value for every leaf; a list of plain values and an empty mapping are leaves."""
    children: list[tuple[str, Any]] = []
    if isinstance(tree, Mapping):
        children = [(f"{prefix}.{key}" if prefix else str(key), value) for key, value in tree.items()]
    elif isinstance(tree, list | tuple) and any(isinstance(value, Mapping | list | tuple) for value in tree):
        children = [(f"{prefix}[{i}]", value) for i, value in enumerate(tree)]
    if not children:
        return {prefix: tree}
    return {leaf: value for name, child in children for leaf, value in flattened(child, name).items()}


def shown(value: Any) -> str:
    """A config's value in words."""
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) and value else str(value)


def differing(of_runs: Mapping[str, Sequence[Difference]], *, is_serious: bool) -> list[str]:
    """In what runs differ from the base, seriously or not, by what they are called."""
    return [
        f"{name} differs in {difference}"
        for name, differences in of_runs.items()
        for difference in differences
        if difference.serious == is_serious
    ]


def difference_lines(of_runs: Mapping[str, Sequence[Difference]]) -> list[str]:
    """The same, the serious ones first."""
    warnings, notes = (differing(of_runs, is_serious=is_serious) for is_serious in (True, False))
    return [*(f"Warning: {line}" for line in warnings), *(f"Note: {line}" for line in notes)]
