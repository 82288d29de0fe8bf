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
    # Cut off
    ("a name that could be longer", ANNS, "Ann" + CUT, "<cut_off>"),
    ("a name that could not", ANNS, "Anna" + CUT, "Anna"),
    ("a preamble cut short", TWO, "Based on the conv" + CUT, "<cut_off>"),
    ("nothing at all before the cut", TWO, CUT, "<empty>"),
]
