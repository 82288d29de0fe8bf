"""r/AIO's construction against stand-ins on loopback: posts a minute through each stage, and what Reddit would allow.

The stand-ins answer at once, so the time is ours: PRAW, redaction, images decoded and encoded, files synced.
"""

import os
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from io import StringIO
from pathlib import Path

from tests.made.made_aio import DOG, TRIP, post, screenshot, workshop

N_POSTS = 100
STAGES = ("discover", "harvest", "transcribe", "label", "check", "items")
REDDITS_LIMIT = 100 / 4  # posts a minute: 100 requests, four orders of comments


def main() -> None:
    images = (screenshot(TRIP), screenshot(DOG))
    first = post("post0", *images)
    made = [replace(first, post_id=f"post{number}") for number in range(N_POSTS)]
    with tempfile.TemporaryDirectory() as folder, workshop(Path(folder), made) as stand_ins:
        os.environ.update(stand_ins.environment)
        print(f"build aio, {N_POSTS} posts of {len(images)} screenshots, against stand-ins that answer at once")
        for stage in STAGES:
            started, printed = time.perf_counter(), StringIO()
            with redirect_stdout(printed), redirect_stderr(printed):
                stand_ins.run(stage, *(["--unchecked"] if stage == "items" else []))
            seconds = time.perf_counter() - started
            print(f"  {stage:<12}{60 * N_POSTS / seconds:>9,.0f} posts a minute ({seconds:.2f} s)", flush=True)
        assert len(stand_ins.items()) == N_POSTS
    print(f"  Reddit itself allows {REDDITS_LIMIT:.0f} posts a minute to be harvested")


if __name__ == "__main__":
    main()
