"""Made raw folders in the nine publishers' formats, sizes and ids as in Table 8; every word is ours.

At scale 1.0 all published test ids exist. Other scales multiply the numbers of lines, with 20 at least.
"""

import csv
import gzip
import io
import json
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from studies.dialdefer.unified import amqa, bbq, gpqa, halueval, harp, plausibleqa, socialiqa, truthfulqa
from tests.made import unified_rows as rows_of
from tests.made.unified_rows import Row

SMALLEST = 20


def write_raw(folder: Path, *, scale: float = 1.0, datasets: Sequence[str] | None = None) -> None:
    """Write folder/<dataset>/<the publisher's file> for the datasets named, or for all nine."""
    for name in datasets or WRITERS:
        (folder / name).mkdir(parents=True, exist_ok=True)
        WRITERS[name](folder / name, scale)


def scaled(n: int, scale: float, least: int = SMALLEST) -> int:
    return max(least, round(n * scale))


def json_lines(rows: Iterable[Row]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def csv_text(rows: Sequence[Row]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def write_truthfulqa(folder: Path, scale: float) -> None:
    """A byte order mark leads the file."""
    text = csv_text(list(rows_of.truthfulqa_rows(scaled(790, scale))))
    (folder / truthfulqa.FILE).write_text(text, encoding="utf-8-sig", newline="")


def write_lines(path: Path, rows: Iterable[Row]) -> None:
    path.write_text(json_lines(rows), encoding="utf-8", newline="")


def write_bbq(folder: Path, scale: float) -> None:
    for stem, n in bbq.FILES.items():
        write_lines(folder / f"{stem}.jsonl", rows_of.bbq_rows(stem, scaled(n, scale, least=4)))


def write_gpqa(folder: Path, scale: float) -> None:
    (folder / gpqa.FILE).write_text(csv_text(list(rows_of.gpqa_rows(scaled(448, scale)))), encoding="utf-8", newline="")


def write_harp(folder: Path, scale: float) -> None:
    write_zip(folder / harp.ARCHIVE, {harp.FILE: json_lines(rows_of.harp_rows(scaled(4_110, scale)))})


def write_plausibleqa(folder: Path, scale: float) -> None:
    rows = list(rows_of.plausibleqa_rows(scaled(10_000, scale)))
    (folder / plausibleqa.FILE).write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")


def write_socialiqa(folder: Path, scale: float) -> None:
    """The publisher's archive holds the other splits too."""
    others = json_lines(rows_of.socialiqa_rows(3))
    test = json_lines(rows_of.socialiqa_rows(scaled(2_224, scale)))
    members = {f"socialIWa_v1.4_{name}_wDims.jsonl": others for name in ("trn", "dev")} | {socialiqa.FILE: test}
    write_tgz(folder / socialiqa.ARCHIVE, {f"socialIQa_v1.4_withDims/{name}": text for name, text in members.items()})


def write_zip(path: Path, members: Mapping[str, str]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)


def write_tgz(path: Path, members: Mapping[str, str]) -> None:
    with (
        path.open("wb") as raw,
        gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for name, text in members.items():
            content = text.encode()
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


WRITERS: dict[str, Callable[[Path, float], None]] = {
    "truthfulqa": write_truthfulqa,
    "advisorqa": lambda folder, scale: write_lines(folder / "test.jsonl", rows_of.advisorqa_rows(scaled(1_000, scale))),
    "amqa": lambda folder, scale: write_lines(folder / amqa.FILE, rows_of.amqa_rows(scaled(801, scale))),
    "bbq": write_bbq,
    "gpqa": write_gpqa,
    "halueval": lambda folder, scale: write_lines(folder / halueval.FILE, rows_of.halueval_rows(scaled(10_000, scale))),
    "harp": write_harp,
    "plausibleqa": write_plausibleqa,
    "socialiqa": write_socialiqa,
}
