"""Made dumps in ConvoKit's layout, old field names and new. Every word in them is invented."""

import json
import zipfile

OLD = {"conversation_id": "root", "speaker": "user"}


def talk(key, *said, attack=-1):
    """The utterances of a conversation: a section header, then (speaker, text) a minute apart; one is the attack."""
    rows = [utterance(key, key, said[0][0], f"== {key} ==", 0.0, None, is_section_header=True)]
    for place, (speaker, text) in enumerate(said):
        rows.append(utterance(f"{key}.{place}", key, speaker, text, 60.0 * (place + 1), rows[-1]["id"]))
    if attack is not None:
        rows[1:][attack]["meta"]["comment_has_personal_attack"] = True
    return rows


def utterance(key, conversation, speaker, text, time, reply_to, **meta):
    """One utterance with new field names."""
    flags = {"is_section_header": False, "comment_has_personal_attack": False, "parsed": [{"tok": "x"}]}
    return {
        "id": key,
        "conversation_id": conversation,
        "text": text,
        "speaker": speaker,
        "meta": {**flags, **meta},
        "reply-to": reply_to,
        "timestamp": time,
        "vectors": [],
    }


def facts(page="User talk:Made", page_id=1, *, attack=True, **more):
    """A conversation's meta."""
    return {"page_title": page, "page_id": page_id, "conversation_has_personal_attack": attack, "split": "val", **more}


def write_dump(folder, rows, metas, *, old=False, speakers=None):
    """The files of a dump: old takes the old field names, and leaves the objects around meta away."""
    folder.mkdir(parents=True, exist_ok=True)
    renamed = ({OLD.get(name, name) if old else name: value for name, value in row.items()} for row in rows)
    (folder / "utterances.jsonl").write_text("".join(json.dumps(row) + "\n" for row in renamed))
    wrapped = {key: meta if old else {"meta": meta, "vectors": []} for key, meta in metas.items()}
    (folder / "conversations.json").write_text(json.dumps(wrapped))
    (folder / "speakers.json").write_text(json.dumps(speakers or {}))
    return folder


def zipped(folder, path, top=""):
    """The zip of a folder, under a top folder or not, with what a Mac adds."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.iterdir()):
            archive.write(file, f"{top}{file.name}")
        archive.writestr(f"__MACOSX/{top}utterances.jsonl", b"\0")
    return path


QUARREL = talk("q", ("Ann", "Why was this moved?"), ("Ben", "See the guideline."), ("Ann", "You fool."))
CALM = talk("c", ("Ann", "The caption has the wrong year."), ("Cleo", "Fixed, thanks."), attack=None)
SMALL = ([*QUARREL, *CALM], {"q": facts(pair_id="c"), "c": facts(attack=False, pair_id="q")})


def made_dump(folder, n_pages=20):
    """Two quarrels and a calm conversation on each page."""
    rows, metas = [], {}
    for page in range(n_pages):
        for n, attack in enumerate((True, True, False)):
            key = f"{page}.{n}"
            said = [(f"S{speaker % (2 + n)}", f"Turn {speaker} of {key}.") for speaker in range(4)]
            rows += talk(key, *said, attack=-1 if attack else None)
            metas[key] = facts(f"Talk:Page {page}" + ("/Archive 1" if n else ""), 3 * page + n, attack=attack)
    return write_dump(folder, rows, metas)


def made_cmv_dump(folder, n_posts=20, gone=None):
    """In CGA-CMV's layout: on each post two threads whose final comment was removed and a calm one; no flags.

    gone: (place, field) of the first thread that is deleted.
    """
    rows, metas = [], {}
    for post in range(n_posts):
        for n, removed in enumerate((True, True, False)):
            key = f"c{post}x{n}"
            for place in range(4):
                said = f"user{place % (2 + n)}", f"Comment {place} of {key}.", 60 * place
                row = utterance(f"{key}_{place}" if place else key, key, *said, key if place else None)
                row["meta"] = {"score": 1, "permalink": f"/r/changemyview/comments/p{post}/cmv_made/{key}_{place}/"}
                rows.append(row)
            metas[key] = {"pair_id": f"c{post}x2", "has_removed_comment": removed, "split": "train"}
    if gone:
        rows[gone[0]][gone[1]] = "[deleted]"
    return write_dump(folder, rows, metas)
