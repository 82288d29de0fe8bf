"""A made ConvoKit dump."""

from pathlib import Path

from tests.made.convokit_dump import facts, talk, write_dump


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
