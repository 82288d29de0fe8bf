"""What judges write, by kind, and how each is read: (kind, reply, strict, lenient). The specification of both parsers.

Both read what is said without thinking. strict reads the last whole JSON object with the answer and guesses nothing.
lenient is the published rule: the first `"chosen_answer": 1|2`, string or integer; else a leading 1 or 2; else the
first 1 or 2 that stands alone.
"""

REPLY_KINDS: list[tuple[str, str, int | None, int | None]] = [
    # As asked for
    ("an object with a string", '{"chosen_answer": "1", "reasoning": "so"}', 1, 1),
    ("the reasoning first", '{"reasoning": "first 2, then 1", "chosen_answer": "2"}', 2, 2),
    ("a byte order mark", '\ufeff{"chosen_answer": "1"}', 1, 1),
    # In a fence or among words
    ("a fence with its language", '```json\n{"chosen_answer": "1", "reasoning": "so"}\n```', 1, 1),
    ("braces after", '{"chosen_answer": "1"} since {x : x = 2} is {2}', 1, 1),
    # What models put into the reasoning
    ("raw newlines and tabs in a string", '{"chosen_answer": "2", "reasoning": "one\nline\ttwo"}', 2, 2),
    ("LaTeX", r'{"chosen_answer": "1", "reasoning": "\(x^2\), \sqrt{2}, \underline{y}, \frac{1}{2}"}', 1, 1),
    ("proper escapes", r'{"chosen_answer": "1", "reasoning": "a \"quote\", a \\, \u00e9, \/"}', 1, 1),
    ("a backslash that swallows the closing quote", r'{"chosen_answer": "1", "reasoning": "in C:\"}', None, 1),
    ("braces in a string", '{"chosen_answer": "1", "reasoning": "the set {2}, and }{"}', 1, 1),
    ("an unescaped quote in a string", '{"chosen_answer": "1", "reasoning": "she said "no" twice"}', None, 1),
    ("half a surrogate pair", '{"chosen_answer": "2", "reasoning": "\ud83d"}', 2, 2),
    # Cut off or broken
    ("cut off in the reasoning", '{"chosen_answer": "1", "reasoning": "the statement is corr', None, 1),
    ("braces before the object", 'Of {1, 2} and {"a": {}}: {"chosen_answer": "2"}', 2, 2),
    # Thinking
    ("thoughts with another answer", '<think>{"chosen_answer": "2"}?</think>{"chosen_answer": "1"}', 1, 1),
    ("thoughts with an end alone", '{"chosen_answer": "2"}? </think> or 2\n</think>\n{"chosen_answer": 1}', 1, 1),
    ("thoughts in thoughts", '[THINK]1 <think>2</think>, 2[/THINK]{"chosen_answer": 1}', 1, 1),
    ("a thought without an end", '<think>\n{"chosen_answer": "2"}, since', None, None),
    ("a thought behind the answer", '{"chosen_answer": "2"}\n<think>Or {"chosen_answer": "1"}?', 2, 2),
    ("thoughts alone", 'So {"chosen_answer": "2"}.\n</think>\n', None, None),
    ("an end that is spoken of", '{"chosen_answer": "1", "reasoning": "behind the </think> tag"}', 1, 1),
    # More than one answer
    ("an answer named before the object", '"chosen_answer": "2" became {"chosen_answer": "1"}', 1, 2),
    ("a draft", '{"chosen_answer": "2"} No: {"chosen_answer": "1", "reasoning": "so"} {"sure": 2}', 1, 2),
    ("a second object that was cut off", '{"chosen_answer": "1"} No: {"chosen_answer": "2", "reas', None, 1),
    ("the same one again that was cut off", '{"chosen_answer": "1"}\n{"chosen_answer": "1", "reas', 1, 1),
    ("words that take it back", '{"chosen_answer": "1"} Wait, the answer should be **2**.', None, 1),
    ("words that keep to it", '{"chosen_answer": "1"} Answer 2 is wrong. The answer is 1.', 1, 1),
    ("one key twice, disagreeing", '{"chosen_answer": "1", "chosen_answer": "2"}', None, 1),
    ("one key twice, agreeing", '{"chosen_answer": "1", "chosen_answer": "1"}', 1, 1),
    ("the template repeated first", '{"chosen_answer": "1" or "2"} → {"chosen_answer": "2"}', 2, 1),
    ("the key inside another object only", '{"arguments": {"chosen_answer": "2"}}', 2, 2),
    ("an inner object that disagrees", '{"draft": {"chosen_answer": "2"}, "chosen_answer": "1"}', None, 2),
    # Answers that are none
    ("twelve as a string", '{"chosen_answer": "12"}', None, None),
    ("a decimal", '{"chosen_answer": 1.0}', None, 1),
    ("an answer spelled by an escape", r'{"chosen_answer": "\u0031"}', None, None),
    # No object at all
    ("the answer alone", "1", None, 1),
    ("prose that names a speaker", "Speaker 2 is correct.", None, 2),  # an acceptance, read as a rejection
    ("nothing", "", None, None),
]
