"""Made ConvoKit dumps."""

from pathlib import Path

from tests.made.convokit_dump import facts, talk, utterance, write_dump


def made_dump(folder: Path, n_pages: int = 20) -> Path:
    """Two quarrels and a calm conversation on each page."""
    rows, metas = [], {}
    for page in range(n_pages):
        for n, attack in enumerate((True, True, False)):
            key = f"{page}.{n}"
            said = [(f"S{speaker % (2 + n)}", f"Turn {speaker} of {key}.") for speaker in range(4)]
            rows += talk(key, *said, attack=-1 if attack else None)
            metas[key] = facts(f"Talk:Page {page}" + ("/Archive 1" if n else ""), 3 * page + n, attack=attack)
    return write_dump(folder, rows, metas)


def made_cmv_dump(folder: Path, n_posts: int = 20) -> Path:
    """In CGA-CMV's layout: on each post two threads whose final comment was removed and a calm one; no flags."""
    rows, metas = [], {}
    for post in range(n_posts):
        for n, removed in enumerate((True, True, False)):
            key = f"c{post}x{n}"
            for place in range(4):
                row = utterance(
                    key if place == 0 else f"{key}_{place}",
                    key,
                    f"user{place % (2 + n)}",
                    f"Comment {place} of {key}.",
                    1_500_000_000 + 60 * place,
                    None if place == 0 else key,
                )
                row["meta"] = {"score": 1, "permalink": f"/r/changemyview/comments/p{post}/cmv_made/{key}_{place}/"}
                rows.append(row)
            metas[key] = {"pair_id": f"c{post}x2", "has_removed_comment": removed, "split": "train"}
    return write_dump(folder, rows, metas)
