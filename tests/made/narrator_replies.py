"""Replies with names that are hard to tell from words, and cut ends: (kind, options, reply, what it says).

What it says is an option, or the name of a state in angle brackets. Replies that end in ✂ were cut off there.
"""

TWO = ("Jros83", "Joshuaingram")
WITH_ME = ("Jros83", "Joshuaingram", "Me")
YES_NO = ("Yes", "No")
ANNS = ("Ann", "Anna", "Ann Lee", "Me")
CUT = "✂"

REPLY_KINDS: list[tuple[str, tuple[str, ...], str, str]] = [
    ("preambles without end", TWO, "The answer is " * 500, "<off_list>"),
    ("an attack and its words", TWO, 'Jros83 attacked Joshuaingram by saying: "stupid shit"', "Jros83"),
    ("the prompt continued", TWO, "Jros83\n\nQuestion: Who began?\n\nAnswer: Joshuaingram", "Jros83"),
    ("denied later on", TWO, "In the end **Jros83** never attacked.", "<negated_only>"),
    ("not only rude", TWO, "Jros83 was not only rude but insulting.", "Jros83"),
    ("Me where nobody is", TWO, "Me", "<off_list>"),
    ("no as a word", YES_NO, "It has no end.", "<off_list>"),
    # Me among words
    # Names that contain or equal others
    ("a longer name in another case", ("Ann Lee", "ann"), "ann lee was rude", "Ann Lee"),
    ("names that differ in case alone", ("bob", "Bob"), "Bob was rude", "Bob"),
    ("names that differ in what is not seen", ("Bob", "Bob\u200e"), "Bob.", "<ambiguous>"),
    # Names that are words
    ("called No, in a sentence", ("No", "Ann"), "No personal attack was made.", "<negated_only>"),
    ("called The", ("The", "Ann"), "The attacker is Ann.", "Ann"),
    ("called I", ("I", "Ann"), "I cannot tell.", "<refusal>"),
    ("called like a preamble", ("It was me", "Ann"), "It was me, of course", "It was me"),
    ("called A", ("A", "B"), "A. B was polite.", "A"),
    # Names with marks
    ("regular expressions", ("a.*b", "C++", "[x]"), "C++", "C++"),
    ("brackets of its own", ("[x]", "Ann"), "[x] made it.", "[x]"),
    ("a comma, and its parts", ("Smith, John", "Smith", "John"), "Smith, John.", "Smith, John"),
    ("underscores", ("Some_Name", "Ann"), r"Some\_Name", "Some_Name"),
    # Other scripts and emoji
    ("an emoji within another", ("👨", "Ann"), "It is about 👨‍👩‍👧 here", "<off_list>"),
    ("an emoji without its selector", ("❤️", "Ann"), "❤", "❤️"),
    ("right to left, with its marks", ("محمد", "Ann"), "\u200fمحمد\u200f، لأنه", "محمد"),
    ("a longer word in another script", ("Ал", "Ann"), "Алиса", "<off_list>"),
    # Typography
    ("full-width digits", TWO, "Ｊros８３", "Jros83"),
    ("marks left off", ("Pé de Chinelo", "Grüner Baum"), "Pe de Chinelo", "Pé de Chinelo"),
    ("umlauts spelled out", ("Pé de Chinelo", "Grüner Baum"), "Gruener Baum", "Grüner Baum"),
    ("a blank for an underscore", ("Some_Name", "Ann"), "Some Name attacked Ann.", "Some_Name"),
    # JSON
    ("with an explanation", TWO, '{"answer": "Jros83", "explanation": "Joshuaingram was calm."}', "Jros83"),
    (
        "in a fence, the victim first",
        TWO,
        '```json\n{"victim": "Jros83", "attacker": "Joshuaingram"}\n```',
        "Joshuaingram",
    ),
    ("chances", TWO, '{"Jros83": 0.9, "Joshuaingram": 0.1}', "<off_list>"),
    # Detection in sentences
    *(
        ("detection", YES_NO, reply, says)
        for says, replies in {
            "Yes": [
                *(
                    "It does.",
                    "Sadly it does",
                    "No doubt about it: the conversation ends in a personal attack.",
                    "Ja, leider.",
                ),
                *("No... wait. Yes, it does.", "No insults until the last line, which is one. So it does.", "Sí."),
            ],
            "No": [
                *(
                    "The conversation does not end in a personal attack.",
                    "Nope",
                    "I don't think so.",
                    "❌ No personal attack.",
                ),
                *(
                    "Yes, they disagree, but no, it doesn't end in one.",
                    "Yes\n\nCorrection: No.",
                    "It ends civilly.",
                    "不，没有。",
                ),
                *(
                    "The tone is sharp, but nobody attacks anybody.",
                    "B) No",
                    "Hard to believe, but no.",
                    "Non, pas du tout.",
                ),
            ],
            "<ambiguous>": [
                "Yes. No.",
                "Yes, it does. No, it does not.",
                "There is no personal attack. Yes, there is.",
                "Yes, there is tension, but the last message isn't a personal attack.",
            ],
            "<off_list>": [
                "If it is meant so, it is a personal attack.",
                "Alice asked Bob not to attack her.",
                "Yes, if sarcasm counts.",
                "It is wrong to say that there is no attack.",
            ],
            "<refusal>": ["I'm sorry, but I can't help with judging personal attacks."],
        }.items()
        for reply in replies
    ),
    # Conclusions and lists of speakers
    ("a correction", TWO, "Jros83. Wait, no: Joshuaingram.", "Joshuaingram"),
    ("only a correction", TWO, "Correction: Jros83", "Jros83"),
    (
        "a list with a conclusion",
        TWO,
        "* Jros83: mild.\n* Joshuaingram: harsh.\n\nOverall, Joshuaingram was worse.",
        "Joshuaingram",
    ),
    (
        "a list without",
        TWO,
        "**Jros83:** Jros83 was rude.\n\n**Joshuaingram:** Joshuaingram was also" + CUT,
        "<continues_transcript>",
    ),
    ("a ranking", TWO, "From least to most problematic:\n1. Jros83\n2. Joshuaingram", "Joshuaingram"),
    ("worse than another", TWO, "Both were rude, but Jros83 more so.", "Jros83"),
    ("conditions", WITH_ME, "If tone counts, Jros83; if policy does, Joshuaingram.", "<off_list>"),
    ("who was polite", TWO, "Jros83 attacked him. Joshuaingram, although provoked, stayed on topic.", "Jros83"),
    (
        "a list that was cut",
        TWO,
        "Each speaker:\n1. Jros83 - says no. Not rude.\n2. Joshuaingram - s" + CUT,
        "<continues_transcript>",
    ),
    ("two in places of an answer", TWO, "Jros83. He was rude. Joshuaingram. He was too.", "<ambiguous>"),
    ("nobody, and one who was rude", TWO, "Nobody made a personal attack. Jros83 was merely rude.", "<ambiguous>"),
    ("what a speaker says", TWO, "As Jros83 said, Joshuaingram was rude.", "<off_list>"),
    # Cut off
    ("a name that could be longer", ANNS, "Ann" + CUT, "<cut_off>"),
    ("a name that could not", ANNS, "Anna" + CUT, "Anna"),
    ("a preamble cut short", TWO, "Based on the conv" + CUT, "<cut_off>"),
    ("nothing at all before the cut", TWO, CUT, "<empty>"),
]
