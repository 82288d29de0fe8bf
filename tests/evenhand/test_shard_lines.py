"""A line of a shard that no engine has written is named with its file, its number and the way out."""

import json
from pathlib import Path

import pytest

from eval.dialdefer.runs import load_run
from evenhand.errors import DataError
from tests.made.made_runs import made_items, make_run, say


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("finish_reason", None, "its finish_reason is null"),
        ("text", None, "its text is null"),
        ("text", 7, "its text is 7"),
        ("sample_index", "0", 'its sample_index is "0"'),
        ("prompt_tokens", "many", 'its prompt_tokens is "many"'),
        ("answer_logprobs", [1, 2], r"its answer_logprobs is \[1, 2\]"),
        ("answer_logprobs", {"1": "-0.5", "2": -2.0}, "its log-probability of '1' is \"-0.5\""),
        ("surprise", 1, "surprise"),
    ],
)
def test_a_completion_of_the_wrong_types_is_named_with_file_line_and_way_out(
    field: str, value: object, says: str, tmp_path: Path
) -> None:
    path = make_run(tmp_path, lambda p: say(1), items=made_items("bbq", 2))
    shard = next((path / "completions").iterdir())
    lines = shard.read_text().splitlines()
    lines[3] = json.dumps({**json.loads(lines[3]), field: value})
    shard.write_text("\n".join(lines))
    with pytest.raises(DataError, match=rf"{shard.name}:4: is no completion \(.*{says}.*\)\..*[Dd]elete this shard"):
        load_run(path)
