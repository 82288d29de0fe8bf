"""Labels, neutral contexts and relationships of the posts whose transcripts fit (B.2, B.3), by a text model."""

import re

from evenhand.records import Completion
from inference.dialdefer.model_server import ModelServer
from studies.dialdefer.aio.neutral_text import neutral
from studies.dialdefer.aio.pii import redact
from studies.dialdefer.aio.prompts import BODY_CHARACTERS, LABEL, NEUTRAL, RELATIONSHIP, VERSIONS
from studies.dialdefer.aio.raw_folder import POSTS, READINGS, TRANSCRIPTS, RawFolder
from studies.dialdefer.aio.records import Post, Reading, Transcript
from studies.dialdefer.aio.transcripts import dialogue, object_in, unfit
from studies.dialdefer.aio.verdict_patterns import pattern_label

LABEL_TOKENS, NEUTRAL_TOKENS, RELATIONSHIP_TOKENS = 200, 4096, 60
SURE = 0.7  # a model's label below this confidence is for people to check; ours
LONGEST_RELATIONSHIP = 40  # characters


def read_posts(folder: RawFolder, model: ModelServer) -> int:
    """Read the posts that have not been read yet; how many got no answer."""
    fit = [post_id for post_id, found in folder.kept(TRANSCRIPTS, Transcript) if not unfit(found.turns)]
    owed = folder.owed(READINGS, fit)
    if owed:
        folder.settle("label", {"model": model.model, "prompts": VERSIONS["label"]})

    async def one(post_id: str) -> bool:
        post, transcript = folder.read(POSTS, post_id), folder.read(TRANSCRIPTS, post_id)
        assert isinstance(post, Post)
        assert isinstance(transcript, Transcript)
        folder.write(READINGS, post_id, await reading_of(post, transcript, model))
        return True

    return model.each(owed, one, "label")


async def reading_of(post: Post, transcript: Transcript, model: ModelServer) -> Reading:
    """What a post says. Raises Unanswered."""
    verdict = await verdict_of(post, model)
    text = "\n\n".join(filter(None, (post.title, post.body)))
    rewritten = await model.ask(filled(NEUTRAL, text=text), NEUTRAL_TOKENS)
    clean = redact(rewritten.text)
    context = neutral(clean.text)
    cut = ("cut off",) if rewritten.finish_reason == "length" else ()
    asked = filled(RELATIONSHIP, text=text, dialogue=dialogue(transcript.turns))
    named = await model.ask(asked, RELATIONSHIP_TOKENS)
    return Reading(
        **verdict,  # type: ignore[arg-type]
        context=context.text,
        held=(*context.held, *cut),
        relationship=relationship_in(named),
        redacted=dict(clean.counts),
        answered_by=rewritten.answered_by,
    )


async def verdict_of(post: Post, model: ModelServer) -> dict[str, object]:
    """The label of the first of the three best comments that gives one: by a pattern, else by the model."""
    for number, comment in enumerate(post.comments.get("best", ())):
        if found := pattern_label(comment.text):
            return {"label": found.label, "method": "pattern", "comment": number, "doubts": found.doubts}
        asked = filled(LABEL, title=post.title, body_truncated=post.body[:BODY_CHARACTERS], comment=comment.text)
        label, doubts = model_label(await model.ask(asked, LABEL_TOKENS))
        if label:
            return {"label": label, "method": "llm", "comment": number, "doubts": doubts}
    return {"label": None, "method": "", "comment": -1, "doubts": ()}


def model_label(reply: Completion) -> tuple[str, tuple[str, ...]]:
    """("OR" or "NOR", doubts) of a reply to Figure 9's prompt; "" where it is unclear or cannot be read."""
    found, _ = object_in(reply.text)
    label, confidence = found.get("label"), found.get("confidence")
    if label not in ("OR", "NOR"):
        return "", ()
    is_sure = isinstance(confidence, int | float) and SURE <= confidence <= 1
    return label, () if is_sure else (f"confidence {confidence}",)


def relationship_in(reply: Completion) -> str:
    """A short noun in lower case, redacted; "unknown" where there is none."""
    found, _ = object_in(reply.text)
    text = found.get("relationship")
    short = " ".join(redact(text).text.split()).lower() if isinstance(text, str) else ""
    return short if 0 < len(short) <= LONGEST_RELATIONSHIP else "unknown"


def filled(template: str, **texts: str) -> str:
    """A prompt with texts in its places. Braces of the prompt's own JSON, and of a text, stay as they are."""
    return re.sub(r"\{(\w+)\}", lambda found: texts[found[1]], template)
