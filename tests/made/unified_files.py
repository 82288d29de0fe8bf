"""Made raw folders in the nine publishers' formats, of Table 8's sizes times a scale; every word is ours."""

import io
import json
import tarfile
import zipfile

from tests.made import unified_rows as rows_of
from tests.made.made_verdicts import csv_text

# Dataset → (the plain file that its converter reads, its records). BBQ has eleven such files.
PLAIN = {
    "truthfulqa": ("TruthfulQA.csv", 790),
    "advisorqa": ("test.jsonl", 1_000),
    "amqa": ("AMQA_Dataset.jsonl", 801),
    "bbq": ("Age.jsonl", 3_680),
    "gpqa": ("gpqa_main.csv", 448),
    "halueval": ("qa_data.json", 10_000),
    "harp": ("HARP_mcq.jsonl", 4_110),
    "plausibleqa": ("test.json", 10_000),
    "socialiqa": ("socialIWa_v1.4_tst_wDims.jsonl", 2_224),
}
ARCHIVES = {"gpqa": "dataset.zip", "harp": "HARP_mcq.jsonl.zip", "socialiqa": "socialIQa_v1.4_withDims.tgz"}
TABLES = ("truthfulqa", "gpqa")
# In pool order, with the number of lines of each; 58,492 in all.
BBQ_LINES = {"Age": 3_680, "Disability_status": 1_556, "Gender_identity": 5_672, "Nationality": 3_080}
BBQ_LINES |= {"Physical_appearance": 1_576, "Race_ethnicity": 6_880, "Race_x_SES": 11_160, "Race_x_gender": 15_960}
BBQ_LINES |= {"Religion": 1_200, "SES": 6_864, "Sexual_orientation": 864}


def write_raw(folder, *, scale=1.0, datasets):
    """Write folder/<dataset>/<the publisher's file> for the datasets named."""
    for name in datasets:
        place, (file, n_all) = folder / name, PLAIN[name]
        place.mkdir(parents=True, exist_ok=True)
        if name == "bbq":
            for stem, n in BBQ_LINES.items():
                write_lines(place / f"{stem}.jsonl", [rows_of.bbq(i, stem) for i in range(max(4, round(n * scale)))])
            continue
        content = source(name, rows(name, max(20, round(n_all * scale))))
        if name == "harp":
            write_zip(place / ARCHIVES[name], {file: content})
        elif name == "socialiqa":  # the publisher's archive holds the other splits too
            others = source(name, rows(name, 3))
            members = {f"socialIWa_v1.4_{split}_wDims.jsonl": others for split in ("trn", "dev")} | {file: content}
            write_tgz(place / ARCHIVES[name], {f"socialIQa_v1.4_withDims/{m}": text for m, text in members.items()})
        else:
            mark = "\ufeff" if name == "truthfulqa" else ""
            (place / file).write_text(mark + content, encoding="utf-8", newline="")


def rows(dataset, n=4):
    """Made records of a dataset."""
    return [getattr(rows_of, dataset)(i) for i in range(n)]


def source(dataset, records):
    """Records as the publisher writes them."""
    if dataset == "plausibleqa":
        return json.dumps(records, ensure_ascii=False)
    return csv_text(records) if dataset in TABLES else json_lines(records)


def json_lines(rows):
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def write_lines(path, rows):
    path.write_text(json_lines(rows), encoding="utf-8", newline="")


def write_zip(path, members):
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in members.items():
            archive.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)


def write_tgz(path, members):
    with tarfile.open(path, "w:gz") as archive:
        for name, text in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
