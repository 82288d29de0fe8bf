"""What of a set may be passed on: no context that repeats what somebody wrote."""

import pytest

from studies.dialdefer.aio.release import copies

LONG = "I told you three times that the keys lie under the blue pot by the door, and you never listen"


@pytest.mark.parametrize(
    ("turn", "context", "is_copy"),
    [
        (LONG, f"Speaker A wrote: {LONG}.", True),
        (f"{LONG} also buy bread", f"Speaker A wrote '{LONG}'.", True),  # another bubble beside it
        (LONG.replace("keys lie", "keys  lie"), LONG.upper(), True),
        (
            LONG,
            "Speaker A said that the keys were by the door, annoyed that Speaker B had not listened.",
            False,
        ),
        ("ok", "ok", False),
    ],
)
def test_a_context_that_repeats_a_long_stretch_of_a_message_is_known(turn: str, context: str, is_copy: bool) -> None:
    record = {"c2_input": f"Speaker 1: hello\nSpeaker 2: {turn}", "context": context}
    assert copies(record) == is_copy
