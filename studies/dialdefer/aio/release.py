"""What may be passed on of a set (B.5): ids, neutral contexts, labels, relationships, prompts, and how to rehydrate.

No title, body, comment, dialogue or image address is in it.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.errors import DataError
from evenhand.jsonl import write_json, write_jsonl, write_whole
from studies.dialdefer.aio.prompts import LABEL, NEUTRAL, RELATIONSHIP, TRANSCRIPT_SCHEMA, TRANSCRIPTION
from studies.dialdefer.aio.released import AIO_FILE, REDACTED
from studies.dialdefer.aio.report import statistics_table

KEPT = (
    *("id", "dataset", "label_type", "context", "ground_truth", "chosen_correct_answer", "chosen_incorrect_answer"),
    "speaker_a_identity",
)
OURS = ("ids.txt", "prompts.json", "README.md", AIO_FILE.name)
SHORTEST_COPY = 60  # characters of a message that may not stand in a context: the rewrite must not give it away
REHYDRATE = """\
evenhand build aio harvest --raw raw-reddit --release .
evenhand build aio transcribe --raw raw-reddit --server http://127.0.0.1:8000/v1 --model MODEL
evenhand build aio check --raw raw-reddit --release .
evenhand build aio items --raw raw-reddit --release .
"""


def write_release(records: Sequence[Mapping[str, Any]], out: Path) -> int:
    """Write the bundle; how many contexts were left out as they hold whole messages of the dialogue.

    Raises DataError for a folder with other files.
    """
    if out.is_dir() and any(path.name not in OURS and path.suffix != ".partial" for path in out.iterdir()):
        raise DataError(f"{out}: holds other files; choose an empty or a new folder for --out")
    fit = [record for record in records if not copies(record)]
    rows = [{**{key: record.get(key) for key in KEPT}, "c2_input": REDACTED} for record in fit]
    write_whole(out / "ids.txt", "".join(f"{row['id']}\n" for row in rows))
    write_json(
        out / "prompts.json",
        {
            "transcription": TRANSCRIPTION,
            "transcript_schema": TRANSCRIPT_SCHEMA,
            "label": LABEL,
            "neutral": NEUTRAL,
            "relationship": RELATIONSHIP,
        },
    )
    write_whole(out / "README.md", card(fit))
    write_jsonl(out / AIO_FILE.name, rows)
    return len(records) - len(fit)


def copies(record: Mapping[str, Any]) -> bool:
    """Whether a context repeats so many characters of the dialogue word by word; case, blanks and marks aside."""
    context = words_of(str(record["context"]))
    turns = [words_of(line.partition(": ")[2]) for line in str(record["c2_input"]).splitlines()]
    ends = ((turn, start + SHORTEST_COPY) for turn in turns for start in range(len(turn) - SHORTEST_COPY + 1))
    return any(turn[end - SHORTEST_COPY : end] in context for turn, end in ends)


def words_of(text: str) -> str:
    """Its words in lower case, a blank between two."""
    return " ".join(re.findall(r"\w+", text.lower()))


def card(records: Sequence[Mapping[str, Any]]) -> str:
    """README.md of the bundle."""
    return f"""\
# A set of interpersonal conflicts, made as r/AIO

Post ids, neutral contexts in the third person, the community's labels (OR: overreacting, NOR: not overreacting), and
Speaker A's relationship to Speaker B, the original poster. Titles, texts, comments, dialogues and images are not in it.

{statistics_table(records)}

## Rehydration

With access to Reddit's API (its terms apply) and a vision model behind an OpenAI-compatible server, in this folder:

```
{REHYDRATE}```

Then `raw-reddit/items` is a root of DialDefer's dataset `aio`. `prompts.json` holds the prompts and the schema of
transcripts.
"""
