"""The frozen records that the stages hand to each other: Prompt → Completion.

A stage reads one record type and writes the next; none is changed afterwards to hold a later stage's result.
"""

import hashlib
import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, partial
from typing import Annotated, Any, TypeVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from evenhand.errors import DataError

MAX_SAMPLES = 1_000_000  # of one prompt
ROLES = ("system", "user", "assistant")
Record = TypeVar("Record")


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One chat turn, before any chat template."""

    role: str  # one of ROLES
    content: str

    def __post_init__(self) -> None:
        """Raises DataError for another role: a chat template may pass it over without a word."""
        if self.role not in ROLES:
            raise DataError(f"a message has the role '{self.role}'; roles are {', '.join(ROLES)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplingOverride:
    """How one prompt's replies are drawn, where that is not as the run draws them (`sampling` of its config)."""

    temperature: float | None = None
    max_tokens: int | None = None
    n: int | None = None
    json_schema: str | None = None  # of the reply, for runs whose engine holds replies to it


AS_THE_RUN = SamplingOverride()


@dataclass(frozen=True, kw_only=True)  # without slots, so that the hash is kept: a run asks for it several times
class Prompt:
    """One question about one unit of a study, as the model will read it, before the chat template."""

    item_id: str  # of the unit
    benchmark: str  # the collection that the dataset is of: "dialdefer", "pocket", "narrator"
    dataset: str
    condition: str  # the framing, perspective or step that it asks in
    factors: Any  # what the study varied, by name: a frozen dataclass of plain values, with template_version
    messages: tuple[Message, ...]
    answer_space: tuple[str, ...] = ("1", "2")
    drawing: SamplingOverride = AS_THE_RUN
    cluster: str | None = None  # units of one cluster are resampled together; None: this unit by itself
    # The reply whose verdict the judge is asked for, behind it: its prompt's hash and its sample. The probabilities of
    # the answers are read then, whatever the run's verdict is
    reads: tuple[str, int] | None = None

    @cached_property
    def prompt_hash(self) -> str:
        """16 hex digits of what the model is asked: messages, answer space, template version, and its own drawing.

        Two arms that share a prompt share its hash, so that it is asked once. The schema is left out: whether replies
        are held to it is the run's to say.
        """
        content: dict[str, Any] = {
            "messages": [plain(message) for message in self.messages],
            "answer_space": list(self.answer_space),
            "template_version": self.factors.template_version,
        }
        drawing = plain(self.drawing)
        if own := {key: value for key, value in drawing.items() if value is not None and key != "json_schema"}:
            content["drawing"] = own
        if self.reads:
            content["is_read"] = True
        return digest(content, 16)


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """What an engine answered to one prompt, once."""

    __pydantic_config__ = ConfigDict(extra="forbid")  # of a line that is read back

    prompt_hash: str
    sample_index: Annotated[int, Field(ge=0, lt=MAX_SAMPLES)]
    text: str
    finish_reason: str  # "stop", "length", or "error: ..." when the engine gave no reply at all
    answer_logprobs: Mapping[str, float] | None = None  # natural log P(answer) at the answer position
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    rendered: str | None = None  # the chat template's output, with sample 0; None when a server rendered it unseen
    answered_by: str | None = None  # the model and fingerprint that a server's reply names, with sample 0
    thought: str | None = None  # what stood before the text, of a judge that thinks first

    @property
    def whole(self) -> str:
        """The thought, on lines of its own, and the text."""
        return f"{self.thought.rstrip()}\n{self.text}" if self.thought else self.text

    @property
    def is_error(self) -> bool:
        """True when the engine failed: no reply, which is asked again and never counted as an answer."""
        return self.finish_reason.startswith("error")


def failed(prompt: Prompt, n: int, reason: str) -> list[Completion]:
    """What stands in the place of a prompt's n replies that could not be had."""
    return [
        Completion(prompt_hash=prompt.prompt_hash, sample_index=index, text="", finish_reason=f"error: {reason}")
        for index in range(n)
    ]


def record_from(kind: TypeAdapter[Record], record: Mapping[str, Any]) -> Record:
    """What a file has as a record. Raises ValueError naming a field that lacks, is unknown or of another type."""
    try:
        return kind.validate_python(record)
    except ValidationError as error:
        wrong = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, wrong['loc']))}: {wrong['msg']}") from None


completion_from = partial(record_from, TypeAdapter(Completion))  # a line of a shard


def answer_schema(symbols: Sequence[str], keys: Sequence[str] = ("answer",)) -> str:
    """JSON schema of a reply with these keys in their order: `reasoning` is a text, the other is one of the symbols.

    It is an object, since OpenAI's strict mode takes no bare string.
    """
    return object_schema(
        {key: {"type": "string"} | ({} if key == "reasoning" else {"enum": list(symbols)}) for key in keys}
    )


def object_schema(properties: Mapping[str, Any]) -> str:
    """JSON schema of an object that has these keys and no others: key → the schema of its value."""
    closed = {"required": list(properties), "additionalProperties": False}
    return json.dumps({"type": "object", "properties": properties, **closed}, ensure_ascii=False)


def plain(record: Any) -> dict[str, Any]:
    """A record of plain values by the names of its fields. Quicker than asdict, which copies every value."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


CANONICAL = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":"))  # json.dumps makes one a call


def digest(content: object, n_hex: int = 64) -> str:
    """The first n_hex hex digits of the SHA-256 of the content's canonical JSON."""
    return hashlib.sha256(CANONICAL.encode(content).encode()).hexdigest()[:n_hex]


def normalised(text: str) -> str:
    """The text by which two questions count as the same: NFKC, case folded, white space as single blanks."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
