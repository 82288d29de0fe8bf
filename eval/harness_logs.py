"""Logs of other harnesses as sources: inspect's .eval and .json, lm-eval's samples_*.jsonl.

A log of a task that `evenhand export` wrote holds each prompt's lines of a plan: it becomes a run directory, which
every verb reads. Of any other task a mapping makes rows; see eval.mappings.
"""

import io
import json
import math
import re
import tempfile
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zipfile import ZipFile

import yaml
import zstandard

from evenhand.completions import append_completions
from evenhand.data_files import DAMAGE, check_size, kind_of, stem_of, unpacked
from evenhand.data_files import rows as data_rows
from evenhand.errors import DataError
from evenhand.files import sha256_of, write_json, write_jsonl, write_whole
from evenhand.records import Completion, Message, Prompt, completion_from, plain
from evenhand.run_directory import CONFIG_FILE, PLAN_FILE, PROVENANCE_FILE, finish, is_done, read_json
from evenhand.terminal import say

OWN = "evenhand"  # where a sample, and a task, keeps what is ours
EXACT = ("margin", "options")  # verdicts that are log-probabilities of answers
ZSTANDARD = 93  # a zip archive's number for it
DRAWN = {name: name for name in ("temperature", "top_p", "top_k", "max_tokens")} | {"max_gen_toks": "max_tokens"}
SPELLINGS = ("", " ", "Ġ", "▁")  # what tokenizers write before a word
INSPECT = re.compile(r'\s*\{[^{[]*"eval"\s*:\s*\{')  # how its JSON begins: nothing is nested before this key
Answer = Mapping[str, Any]  # lines: of the plan, each with n_lines of its item; completion: a Completion's fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """A log as it is read. Its samples also have model, task, reply and logprobs (token or choice → its own)."""

    path: Path
    model: str
    harness: str
    samples: Sequence[dict[str, Any]]
    exported: Mapping[str, Any] | None  # the task that `evenhand export` wrote; None: somebody else's
    answer: Any  # sample, verdict → Answer, of such a task
    sampling: Mapping[str, Any]  # how its replies were drawn: what it says of our keys of `sampling`


def is_log(path: Path) -> bool:
    """Whether a file is a harness's log: by its suffix, and of JSON by its fields, of JSON lines by the first's."""
    kind = kind_of(path)
    with suppress(DataError):  # it is not there, or cannot be read
        if kind == ".jsonl":
            return {"doc", "resps"} <= next(data_rows(path)).values.keys()
        if kind in (".eval", ".json"):
            with unpacked(path) as file:
                return kind == ".eval" or INSPECT.match(file.read(4096).decode(errors="replace")) is not None
    return False


def read_log(path: Path) -> Log:
    """A harness's log. Raises DataError where it is damaged, or what belongs to it is not there."""
    return lm_eval_log(path) if kind_of(path) == ".jsonl" else inspect_log(path)


def inspect_log(path: Path) -> Log:
    """A log of inspect_ai."""
    try:
        if path.suffix == ".eval":
            with ZipFile(path) as archive:
                names = sorted(name for name in archive.namelist() if name.startswith("samples/"))
                names.insert(0, "header.json")
                check_size(sum(archive.getinfo(name).file_size for name in names), path.stat().st_size, str(path))
                header, *samples = (json.loads(member(archive, name)) for name in names)
        else:
            with unpacked(path) as file:
                header = json.load(file)
            samples = header.get("samples") or []
        of = header["eval"]
        named = {"model": str((of.get("model_args") or {}).get("model_path") or of["model"]), "task": str(of["task"])}
    except (*DAMAGE, zstandard.ZstdError, LookupError, TypeError, AttributeError) as error:
        raise DataError(
            f"{path}: is no whole log of inspect ({error!r}); has its run ended? `inspect log convert` writes it anew"
        ) from None
    return Log(
        path=path,
        model=named["model"],
        harness=f"inspect_ai {(of.get('packages') or {}).get('inspect_ai', '')}".strip(),
        samples=[{**sample, **named, **inspect_reply(sample)} for sample in samples],
        exported=(of.get("metadata") or {}).get(OWN),
        answer=inspect_answer,
        sampling=drawn_as(
            {**(of.get("model_generate_config") or {}), **((header.get("plan") or {}).get("config") or {})}
        ),
    )


def drawn_as(generation: Mapping[str, Any]) -> dict[str, Any]:
    """How replies were drawn, in our words: of a harness's generation arguments those that are set."""
    drawn = {ours: generation.get(theirs) for theirs, ours in DRAWN.items() if generation.get(theirs) is not None}
    return {**drawn, "temperature": 0.0} if generation.get("do_sample") is False else drawn


def member(archive: ZipFile, name: str) -> bytes:
    """A file of a zip archive, also one compressed with zstandard, which Python's own reader knows from 3.14 on."""
    info = archive.getinfo(name)
    if info.compress_type != ZSTANDARD or archive.fp is None:
        return archive.read(name)  # no more than file_size
    archive.fp.seek(info.header_offset)
    start = archive.fp.read(30)  # the local header, whose last fields are the lengths of name and extra field
    archive.fp.seek(int.from_bytes(start[26:28], "little") + int.from_bytes(start[28:30], "little"), 1)
    packed = io.BytesIO(archive.fp.read(info.compress_size))
    return zstandard.ZstdDecompressor().stream_reader(packed).read(info.file_size)


def inspect_reply(sample: Mapping[str, Any]) -> dict[str, Any]:
    """The text of a sample's last reply, and the log-probabilities of the tokens it could begin with."""
    choice: Mapping[str, Any] = next(iter((sample.get("output") or {}).get("choices") or ()), {})
    first: Mapping[str, Any] = next(iter((choice.get("logprobs") or {}).get("content") or ()), {})
    listed = [first, *(first.get("top_logprobs") or ())] if first else []
    logprobs = {entry["token"]: float(entry["logprob"]) for entry in listed}
    return {"reply": text_of(choice.get("message") or {}), "logprobs": logprobs}


def text_of(message: Mapping[str, Any]) -> str:
    """What a message of inspect's says, which may be in parts."""
    content = message.get("content") or ""
    return content if isinstance(content, str) else "".join(part.get("text") or "" for part in content)


def inspect_answer(sample: Mapping[str, Any], verdict: str) -> Answer:
    """A sample of an exported task. Raises DataError where the model was shown another prompt."""
    own, read = sample["metadata"][OWN], inspect_reply(sample)
    shown = [(message["role"], text_of(message)) for message in sample["messages"]]
    check_same_prompt(own, shown[:-1] if shown[-1][0] == "assistant" else shown)
    readings = [{a: read["logprobs"].get(spelling + a) for a in own["answers"]} for spelling in SPELLINGS]
    logprobs = max(({a: p for a, p in each.items() if p is not None} for each in readings), key=len)
    choices = (sample.get("output") or {}).get("choices") or [{}]
    is_cut = choices[0].get("stop_reason") in ("max_tokens", "model_length")
    finish_reason = "error" if sample.get("error") else "length" if is_cut else "stop"
    return answered(own, verdict, read["reply"], logprobs, finish_reason)


def lm_eval_log(path: Path) -> Log:
    """A log of lm-eval, with the results that lie beside it."""
    task, _, date = stem_of(path).removeprefix("samples_").rpartition("_")
    beside = path.with_name(f"results_{date}.json")
    facts = read_json(beside) if beside.exists() else {}
    named = {"model": str(facts.get("model_name") or path.parent.name), "task": task}
    samples = [dict(record.values) for record in data_rows(path)]
    asked = lm_eval_arguments(samples[0]) if samples else []
    metadata = dict((facts.get("configs") or {}).get(task) or {}).get("metadata") or {}
    return Log(
        path=path,
        model=named["model"],
        harness=f"lm_eval {facts.get('lm_eval_version', '')}".strip(),
        samples=[{**sample, **named, **lm_eval_reply(sample)} for sample in samples],
        exported=metadata.get(OWN),
        answer=lm_eval_answer,
        sampling=drawn_as(next((given for _, given in asked if isinstance(given, dict)), {})),
    )


def lm_eval_arguments(sample: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """(text, answer or generation arguments) of each request of a sample; older versions list them without names."""
    arguments = sample.get("arguments") or ()
    if isinstance(arguments, Mapping):
        return [(str(of.get("arg_0", "")), of.get("arg_1", "")) for of in arguments.values()]
    return [(str(text), more[0] if more else "") for text, *more in arguments]


def lm_eval_reply(sample: Mapping[str, Any]) -> dict[str, Any]:
    """The text of a sample's reply, or of its likeliest choice; and each choice's log-probability."""
    given = sample["filtered_resps"]
    if not given or isinstance(given[0], str):
        return {"reply": given[0] if given else "", "logprobs": {}}
    asked = [str(answer).strip() for _, answer in lm_eval_arguments(sample)]
    logprobs = {choice: float(first) for choice, (first, *_) in zip(asked, given, strict=False)}
    return {"reply": max(logprobs, key=lambda choice: logprobs[choice]), "logprobs": logprobs}


def lm_eval_answer(sample: Mapping[str, Any], verdict: str) -> Answer:
    """A sample of an exported task, or what is known of it while lm-eval runs (doc and filtered_resps).

    lm-eval scores white space that ends a prompt with the answer, so the answers' probabilities here add up to 1.
    """
    doc, given = sample["doc"], sample["filtered_resps"]
    own = json.loads(doc[OWN])
    messages = [(role, doc[role]) for role in ("system", "user") if doc[role]]
    check_same_prompt(own, messages)
    texts = [text for text, _ in lm_eval_arguments(sample)]
    for text in texts:
        if any(content not in text for _, content in messages):
            raise DataError(f"prompt {own['prompt_hash']}: lm-eval has shown the model another text")
    if verdict not in EXACT:
        return answered(own, verdict, str(given[0]), {}, "stop", texts[0] if texts else None)
    logs = [float(first) for first, *_ in given]
    total = max(logs) + math.log(math.fsum(math.exp(log - max(logs)) for log in logs))
    logprobs = {answer: log - total for answer, log in zip(own["answers"], logs, strict=True)}
    return answered(own, verdict, "", logprobs, "stop", texts[0] if texts else None)


def check_same_prompt(own: Mapping[str, Any], messages: Iterable[tuple[str, str]]) -> None:
    """Raises DataError where messages are not the prompt that was exported."""
    prompt = Prompt(
        item_id="",
        benchmark="",
        dataset="",
        condition="",
        factors=SimpleNamespace(template_version=own["lines"][0]["factors"]["template_version"]),
        messages=tuple(Message(role=role, content=content) for role, content in messages),
        answer_space=tuple(own["answers"]),
    )
    if prompt.prompt_hash != own["prompt_hash"]:
        raise DataError(
            f"prompt {own['prompt_hash']}: the model was shown another one; add no system message, examples or solver"
        )


def answered(
    own: Mapping[str, Any],
    verdict: str,
    reply: str,
    logprobs: Mapping[str, float],
    finish_reason: str,
    rendered: str | None = None,
) -> Answer:
    """What a harness's reply to a prompt is as a completion of ours."""
    exact = verdict in EXACT
    completion = Completion(
        prompt_hash=own["prompt_hash"],
        sample_index=own["sample_index"],
        text=max(logprobs, key=lambda answer: logprobs[answer], default="") if exact else reply,
        finish_reason=finish_reason,
        answer_logprobs=logprobs if exact else None,
        rendered=rendered,
    )
    return {"lines": own["lines"], "completion": plain(completion)}


def whole_items(asked: Sequence[Answer], answers: Sequence[Answer], n_epochs: int = 1) -> tuple[set[str], int]:
    """The items all of whose prompts are answered in all epochs, and how many others were asked about."""
    wanted = {line["item_id"]: line["n_lines"] for answer in asked for line in answer["lines"]}
    n_answers = Counter(line["item_id"] for answer in answers for line in answer["lines"])
    whole = {item for item, n in wanted.items() if n_answers[item] == n_epochs * n}
    return whole, len(wanted) - len(whole)


def write_run(
    path: Path, exported: Mapping[str, Any], answers: Sequence[Answer], whole: Container[str], **facts: str
) -> None:
    """The answers to an exported task as a finished run directory, over the items that are whole.

    facts: model, harness and the like, for provenance.json.
    """
    lines = {
        json.dumps(line): {key: value for key, value in line.items() if key != "n_lines"}
        for answer in answers
        for line in answer["lines"]
        if line["item_id"] in whole
    }
    config = {**exported["config"], "model": {"name": facts["model"]}, "engine": {"kind": facts["harness"]}}
    write_whole(path / CONFIG_FILE, yaml.safe_dump(config, sort_keys=False, allow_unicode=True))
    made = {"config_sha256": sha256_of(path / CONFIG_FILE), "item_set_hash": exported["item_set_hash"]}
    write_json(path / PROVENANCE_FILE, {**facts, **made, "model": {"name": facts["model"]}})
    write_jsonl(path / PLAN_FILE, lines.values())
    append_completions(path, [completion_from(answer["completion"]) for answer in answers])
    finish(path, {"n_planned": len(lines), "n_distinct": len({line["prompt_hash"] for line in lines.values()})})


def figures(exported: Mapping[str, Any], answers: Sequence[Answer]) -> dict[str, float]:
    """The study's headline figures, by measure and what varies: what an exported task prints.

    NaN while no item is whole: inspect also asks while it runs.
    """
    from eval.options import Options
    from eval.results import results_of_runs, varying
    from eval.runs import study_of_run

    whole, _ = whole_items(answers, answers)
    if not whole:
        return dict.fromkeys(exported["figures"], math.nan)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, exported["config"]["name"])
        write_run(path, exported, answers, whole, model="model", harness="harness")
        results = results_of_runs(study_of_run(path), [path], Options(sources=(path,), n_draws=100))
    frame = results.scores
    for name, value in (results.evaluation.headline or {}).items():
        frame = frame[frame[name] == value]
    names = varying(frame, ["dataset", *dict.fromkeys(name for row in results.score_rows for name in row.setting)])
    rows = frame[["measure", *names, "value"]].astype({"value": float} | dict.fromkeys(names, str))
    return {"_".join(dict.fromkeys(filter(None, words))): value for *words, value in rows.to_numpy()}


def with_logs_read(sources: Sequence[Path]) -> list[Path]:
    """Sources with the run directory of an exported task in the place of its log, beside which it lies: LOG.run."""
    return [run_of_log(read_log(path)) if is_log(path) else path for path in sources]


def samples_once(log: Log) -> list[dict[str, Any]]:
    """The samples of a log. One that stands twice counts once; raises DataError where the two differ."""
    samples = dict[str, dict[str, Any]]()
    for sample in log.samples:
        key = json.dumps([sample.get(name) for name in ("id", "epoch", "doc_id", "filter", "doc")])
        if samples.setdefault(key, sample) != sample:
            name = sample.get("id", sample.get("doc_id"))
            raise DataError(f"{log.path}: sample {name} stands there twice, with different replies; keep one of them")
    if n_copies := len(log.samples) - len(samples):
        say(f"Note: {log.path}: {n_copies} samples stand twice and count once.")
    return [*samples.values()]


def run_of_log(log: Log) -> Path:
    """The run directory beside the log of an exported task; it is written where it is not there."""
    if (exported := log.exported) is None:
        raise DataError(
            f"{log.path}: its task was not made by `evenhand export` (lm-eval's results_DATE.json would say so), "
            "so say what its samples are: --mapping NAME|FILE (docs/verdict-files.md)"
        )
    path, sha256 = log.path.with_name(f"{stem_of(log.path)}.run"), sha256_of(log.path)
    if is_done(path):
        if read_json(path / PROVENANCE_FILE).get("log_sha256") != sha256:
            raise DataError(f"{path}: is of another log than {log.path}; remove one of them")
        return path
    samples = samples_once(log)
    n_epochs = max((int(sample.get("epoch") or 1) for sample in samples), default=1)
    try:
        answers = [log.answer(sample, exported["config"]["verdict"]) for sample in samples]
    except DataError as error:
        raise DataError(f"{log.path}: {error}") from None
    for sample, answer in zip(samples, answers, strict=True):
        completion = answer["completion"]
        completion["sample_index"] = n_epochs * completion["sample_index"] + int(sample.get("epoch") or 1) - 1
    replied = [answer for answer in answers if answer["completion"]["finish_reason"] != "error"]
    whole, n_lacking = whole_items(answers, replied, n_epochs)
    failed = f"{len(answers) - len(replied)} of {len(answers)} samples failed"
    if not whole:
        raise DataError(f"{log.path}: no item has all of its prompts ({failed}); run the task without a limit")
    if n_lacking:
        n_items = n_lacking + len(whole)
        say(f"Note: {log.path}: {n_lacking} of {n_items} items lack replies and are left out ({failed}).")
    config = {**exported["config"], "sampling": {**exported["config"]["sampling"], **log.sampling}}
    config["sampling"]["n"] = n_epochs * config["sampling"].get("n", 1)
    facts = {"model": log.model, "harness": log.harness, "log_sha256": sha256}
    write_run(path, {**exported, "config": config}, replied, whole, **facts)
    return path
