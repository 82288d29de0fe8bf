"""Drawing threads from a made dump: peak memory and speed of `evenhand build wildscope`, against `zstd -d | wc -l`.

The same bytes twice: in zstd frames whose window is 2 GiB, as Pushshift's are, and in ordinary ones. A decoder keeps
its window in memory as far as it is filled, so with the large one the peak is above the goal, for zstd itself as for
us; what is ours is the difference.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from tests.made.reddit_dump import comment, large_window, post

N_BYTES = {"RS_2019-05": 1 << 28, "RC_2019-05": 7 << 28}  # unpacked; 2 GiB together
N_PASSES = 2  # over each file
GOAL_MIB = 500
WANTED = ("AmItheAsshole", "AskEconomics", "PoliticalDiscussion")
ONE_WANTED_IN = 50  # lines
N_POSTS = 2000  # of the wanted subreddits
N_OTHERS = 20_000  # different lines of other subreddits, which come again and again


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        # The peak of a child counts from its parent's, so this process stays small.
        subprocess.run([sys.executable, "-m", "tests.bench.wildscope", folder], check=True)
        n_mib = sum(N_BYTES.values()) / 2**20
        print(f"build wildscope, a made dump of {n_mib:,.0f} MiB in {packed_mib(Path(folder) / 'small'):,.0f} MiB")
        for name, words in (("large", "windows of 2 GiB"), ("small", "ordinary windows")):
            raw = Path(folder) / name
            asked = ["build", "wildscope", "--raw", str(raw), "--out", f"{raw}-out"]
            peak, seconds = measured([sys.executable, "-m", "evenhand.command", *asked])
            plain = [unpacked(path) for path in sorted(raw.iterdir())]
            zstd_peak, zstd_seconds = max(peak for peak, _ in plain), sum(seconds for _, seconds in plain)
            ours, theirs = N_PASSES * n_mib / seconds, n_mib / zstd_seconds
            print(
                f"  {words}: peak {peak:,.0f} MiB (goal {GOAL_MIB}), zstd -d {zstd_peak:,.0f} MiB, ours beyond it "
                f"{peak - zstd_peak:,.0f} MiB; {seconds:.1f} s for {N_PASSES} passes = {ours:.0f} MiB/s, "
                f"zstd -d | wc -l {theirs:.0f} MiB/s, ratio {ours / theirs:.2f}",
                flush=True,
            )


def packed_mib(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.iterdir()) / 2**20


def measured(words: list[str]) -> tuple[float, float]:
    """(peak MiB, seconds) of a command."""
    started = time.perf_counter()
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, words
    return used.ru_maxrss / 2**10, time.perf_counter() - started


def unpacked(path: Path) -> tuple[float, float]:
    """(peak MiB of zstd, seconds) of `zstd -d | wc -l`."""
    started = time.perf_counter()
    zstd = subprocess.Popen(["zstd", "-d", "--long=31", "-c", "-q", str(path)], stdout=subprocess.PIPE)
    counter = subprocess.Popen(["wc", "-l"], stdin=zstd.stdout, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(zstd.pid, 0)
    zstd.returncode = os.waitstatus_to_exitcode(status)
    assert (zstd.returncode, counter.wait()) == (0, 0)
    return used.ru_maxrss / 2**10, time.perf_counter() - started


def write_dump(folder: Path) -> None:
    """folder/small and folder/large: the same posts and comments."""
    import zstandard

    for name, n_bytes in N_BYTES.items():
        small, large = (folder / kind / f"{name}.zst" for kind in ("small", "large"))
        for path in (small, large):
            path.parent.mkdir(exist_ok=True)
        with small.open("wb") as file, zstandard.ZstdCompressor(level=1).stream_writer(file) as packer:
            for block in lines(is_posts=name.startswith("RS"), n_bytes=n_bytes):
                packer.write(block)
        content = bytearray(small.read_bytes())
        large_window(content)
        large.write_bytes(content)


def lines(*, is_posts: bool, n_bytes: int) -> Iterator[bytes]:
    """So many bytes, in blocks of lines: a block of other subreddits' lines and one wanted line after it."""
    draws = random.Random(0)
    others = [line_of(draws, number, "Other", is_posts=is_posts) for number in range(N_OTHERS)]
    written, number = 0, 0
    while written < n_bytes:
        start = draws.randrange(N_OTHERS - ONE_WANTED_IN)
        wanted = line_of(draws, number, WANTED[number % len(WANTED)], is_posts=is_posts)
        block = b"".join([*others[start : start + ONE_WANTED_IN - 1], wanted])
        written, number = written + len(block), number + 1
        yield block


def line_of(draws: random.Random, number: int, subreddit: str, *, is_posts: bool) -> bytes:
    """A line of a dump, about 1 KiB of it keys that nobody reads."""
    text = " ".join(f"{draws.getrandbits(20):x}" for _ in range(40))
    unread = {f"unread_key_{n}": f"{draws.getrandbits(64):x}" for n in range(12)}
    if is_posts:
        row = post(f"p{number}", subreddit, selftext=text, **unread)
    else:
        row = comment(f"c{number}", f"p{number % N_POSTS}", subreddit, body=text, **unread)
    return json.dumps(row).encode() + b"\n"


if __name__ == "__main__":
    write_dump(Path(sys.argv[1])) if len(sys.argv) > 1 else main()
