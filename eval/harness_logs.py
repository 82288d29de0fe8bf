"""Logs of other harnesses as sources: inspect's .eval and .json, lm-eval's samples_*.jsonl.

A log of a task that `evenhand export` wrote holds each prompt's lines of a plan: it becomes a run directory, which
every verb reads. Of any other task a mapping makes rows, which are read as files of verdicts are.
"""

import json
import math
import tempfile
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zipfile import BadZipFile, ZipFile

import yaml
import zstandard
from jinja2 import StrictUndefined, TemplateError
from jinja2.sandbox import ImmutableSandboxedEnvironment

from evenhand.completions import append_completions
from evenhand.config import Closed, parse_config, read_yaml
from evenhand.errors import DataError
from evenhand.files import read_jsonl, sha256_of, write_json, write_jsonl, write_whole
from evenhand.records import Completion, Message, Prompt, completion_from, plain
from evenhand.run_directory import CONFIG_FILE, PLAN_FILE, PROVENANCE_FILE, finish, is_done, read_json
from evenhand.terminal import say

OWN = "evenhand"  # where a sample, and a task, keeps what is ours
EXACT = ("margin", "options")  # verdicts that are log-probabilities of answers
ZSTANDARD = 93  # a zip archive's number for it
SPELLINGS = ("", " ", "Ġ", "▁")  # what tokenizers write before a word
ENVIRONMENT = ImmutableSandboxedEnvironment(undefined=StrictUndefined)
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


def is_log(path: Path) -> bool:
    """Whether a file is a harness's log: by its suffix, and of JSON lines by the fields of the first."""
    if not path.is_file() or path.suffix not in (".eval", ".json", ".jsonl"):
        return False
    return path.suffix != ".jsonl" or {"doc", "resps"} <= next(read_jsonl(path), (1, {}))[1].keys()


def read_log(path: Path) -> Log:
    """A harness's log. Raises DataError where it is damaged, or what belongs to it is not there."""
    return lm_eval_log(path) if path.suffix == ".jsonl" else inspect_log(path)


def inspect_log(path: Path) -> Log:
    """A log of inspect_ai."""
    try:
        if path.suffix == ".eval":
            with ZipFile(path) as archive:
                header = json.loads(member(archive, "header.json"))
                names = sorted(name for name in archive.namelist() if name.startswith("samples/"))
                samples = [json.loads(member(archive, name)) for name in names]
        else:
            header = json.loads(path.read_text(encoding="utf-8"))
            samples = header.get("samples") or []
        of = header["eval"]
        named = {"model": str((of.get("model_args") or {}).get("model_path") or of["model"]), "task": str(of["task"])}
    except (OSError, BadZipFile, zstandard.ZstdError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise DataError(
            f"{path}: is no whole log of inspect ({error!r}); a run that has not ended has none yet, and "
            "`inspect log convert --to json` writes one anew"
        ) from None
    return Log(
        path=path,
        model=named["model"],
        harness=f"inspect_ai {(of.get('packages') or {}).get('inspect_ai', '')}".strip(),
        samples=[{**sample, **named, **inspect_reply(sample)} for sample in samples],
        exported=(of.get("metadata") or {}).get(OWN),
        answer=inspect_answer,
    )


def member(archive: ZipFile, name: str) -> bytes:
    """A file of a zip archive, also one compressed with zstandard, which Python's own reader knows from 3.14 on."""
    info = archive.getinfo(name)
    if info.compress_type != ZSTANDARD or archive.fp is None:
        return archive.read(name)
    archive.fp.seek(info.header_offset)
    start = archive.fp.read(30)  # the local header, whose last fields are the lengths of name and extra field
    archive.fp.seek(int.from_bytes(start[26:28], "little") + int.from_bytes(start[28:30], "little"), 1)
    return zstandard.ZstdDecompressor().decompressobj().decompress(archive.fp.read(info.compress_size))


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
    finish_reason = "length" if choices[0].get("stop_reason") in ("max_tokens", "model_length") else "stop"
    if failure := sample.get("error"):
        finish_reason = f"error: {failure.get('message', failure) if isinstance(failure, dict) else failure}"
    return answered(own, verdict, read["reply"], logprobs, finish_reason)


def lm_eval_log(path: Path) -> Log:
    """A log of lm-eval, with the results that lie beside it."""
    task, _, date = path.stem.removeprefix("samples_").rpartition("_")
    facts = read_json(path.with_name(f"results_{date}.json"))
    named = {"model": str(facts.get("model_name") or path.parent.name), "task": task}
    samples = [record for _, record in read_jsonl(path)]
    metadata = dict((facts.get("configs") or {}).get(task) or {}).get("metadata") or {}
    return Log(
        path=path,
        model=named["model"],
        harness=f"lm_eval {facts.get('lm_eval_version', '')}".strip(),
        samples=[{**sample, **named, **lm_eval_reply(sample)} for sample in samples],
        exported=metadata.get(OWN),
        answer=lm_eval_answer,
    )


def lm_eval_reply(sample: Mapping[str, Any]) -> dict[str, Any]:
    """The text of a sample's reply, or of its likeliest choice; and each choice's log-probability."""
    given = sample["filtered_resps"]
    if not given or isinstance(given[0], str):
        return {"reply": given[0] if given else "", "logprobs": {}}
    asked = [str(arguments.get("arg_1", "")).strip() for arguments in sample["arguments"].values()]
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
    texts = [arguments["arg_0"] for arguments in dict(sample.get("arguments") or {}).values()]
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
            f"prompt {own['prompt_hash']}: the model was shown another one; run the task as it was exported, without "
            "a system message, examples or a solver of your own"
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
    exact = verdict in EXACT and not finish_reason.startswith("error")
    completion = Completion(
        prompt_hash=own["prompt_hash"],
        sample_index=own["sample_index"],
        text=max(logprobs, key=lambda answer: logprobs[answer], default="") if exact else reply,
        finish_reason=finish_reason,
        answer_logprobs=logprobs if exact else None,
        rendered=rendered,
    )
    return {"lines": own["lines"], "completion": plain(completion)}


def whole_items(answers: Sequence[Answer]) -> tuple[set[str], int]:
    """The items all of whose prompts are answered, and how many others there are."""
    wanted = {line["item_id"]: line["n_lines"] for answer in answers for line in answer["lines"]}
    n_answers = Counter(line["item_id"] for answer in answers for line in answer["lines"])
    whole = {item for item, n in wanted.items() if n_answers[item] == n}
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

    whole, _ = whole_items(answers)
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


class LogMapping(Closed):
    """Which rows of verdicts a log's samples are: column → a jinja2 template over a sample's fields."""

    columns: dict[str, str] = {}  # of every row
    rows: tuple[dict[str, str], ...] = ({},)  # a sample makes one row each, with these columns beside


def mapped_rows(log: Log, mapping: LogMapping, where: Path) -> Iterable[dict[str, str | None]]:
    """The rows of a log. An empty text is null. Raises DataError naming the sample and column that cannot be filled."""
    for sample in log.samples:
        for row in mapping.rows:
            filled: dict[str, str | None] = {}
            for column, text in {**mapping.columns, **row}.items():
                try:
                    filled[column] = ENVIRONMENT.from_string(text).render(sample).strip() or None
                except (TemplateError, TypeError, ValueError, LookupError) as error:
                    place = f"sample {sample.get('id', sample.get('doc_id'))}"
                    known = ", ".join(sorted(sample))
                    raise DataError(
                        f"{where}: {column}: {error}, in {log.path}, {place}; fields there: {known}"
                    ) from None
            yield filled


def with_logs_read(sources: Sequence[Path], mapping_file: Path | None, out: Path | None) -> list[Path]:
    """Sources with a run directory, or a file of verdicts, in the place of the logs among them.

    The run lies beside its log, LOG.run; the rows of all mapped logs in OUT/verdicts.jsonl.
    """
    logs = {path: read_log(path) for path in sources if is_log(path)}
    if not logs or not mapping_file:
        return [run_of_log(logs[path]) if path in logs else path for path in sources]
    if not out:
        raise DataError("--mapping: rows are written to a file, so name its folder with --out DIR")
    mapping = parse_config(LogMapping, read_yaml(mapping_file), str(mapping_file))
    rows = (row for log in logs.values() for row in mapped_rows(log, mapping, mapping_file))
    write_jsonl(out / "verdicts.jsonl", rows)
    return [out / "verdicts.jsonl", *(path for path in sources if path not in logs)]


def run_of_log(log: Log) -> Path:
    """The run directory beside the log of an exported task; it is written where it is not there."""
    if (exported := log.exported) is None:
        raise DataError(
            f"{log.path}: its task was not made by `evenhand export`, so say what its samples are: --mapping FILE "
            "(docs/verdict-files.md)"
        )
    path, sha256 = log.path.with_suffix(".run"), sha256_of(log.path)
    if is_done(path):
        if read_json(path / PROVENANCE_FILE).get("log_sha256") != sha256:
            raise DataError(f"{path}: is of another log than {log.path}; remove one of them")
        return path
    try:
        answers = [log.answer(sample, exported["config"]["verdict"]) for sample in log.samples]
    except DataError as error:
        raise DataError(f"{log.path}: {error}") from None
    whole, n_lacking = whole_items(answers)
    if not whole:
        raise DataError(f"{log.path}: no item has all of its prompts; run the task without a limit, or a higher one")
    if n_lacking:
        say(f"Note: {log.path}: {n_lacking} of {n_lacking + len(whole)} items lack prompts and are left out.")
    write_run(path, exported, answers, whole, model=log.model, harness=log.harness, log_sha256=sha256)
    return path
