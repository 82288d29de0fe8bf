"""The prompts of appendix B as printed (Figures 8, 9 and 10), and ours for the relationship, which is not printed.

Figure 8's opening quotes before "speaker" come from the paper's typesetting; straight ones are meant.
"""

from evenhand.records import digest

TRANSCRIPTION = """You are given one or more screenshots of a two-person chat conversation. Read all of the chat \
bubbles and output exactly one JSON object:

OUTPUT: {"messages": [{"speaker": "Speaker A", "text": "..."}, {"speaker": "Speaker B", "text": "..."}]}

SPEAKER ASSIGNMENT:

- Look at each bubble's visual SIDE and STYLE.
- The first side/style you see = Speaker A. The other side/style = Speaker B.
- For EACH bubble, choose the speaker ONLY from its side/style, NOT from the order of messages
- If several bubbles in a row are on the same side/style, keep the SAME speaker. Do NOT alternate speakers just \
because it is a new message.

HARD FORMAT RULES:

- Output one JSON object with a single key "messages".
- "messages" is a list of objects with exactly two keys: speaker and text
- speaker must be "Speaker A" or "Speaker B".
- The text value must contain the bubble text with no line breaks
- If the screenshots are NOT a two-person chat, output exactly: {"messages": []}

REDACTIONS: Replace obscured text with [REDACTED]. Redact phone numbers, addresses, and identifying information."""

LABEL = """You are analyzing a Reddit comment from r/AmIOverreacting. In this subreddit, people post situations and \
ask if they are overreacting. Commenters typically indicate whether the poster is:

- Overreacting (OR): The poster's reaction is excessive or unjustified
- Not Overreacting (NOR): The poster's reaction is reasonable or justified

POST TITLE: "{title}"
POST BODY: {body_truncated}
COMMENT: "{comment}"

Return exactly one JSON object with two keys:

- "label": either "OR", "NOR", or "UNCLEAR"
- "confidence": a number from 0 to 1"""

NEUTRAL = """Rewrite this text in third person. Replace all first-person references with "Speaker B" (the person who \
wrote this post).

Rules:

1. Replace "I", "me", "my", "mine", "myself" → "Speaker B", "Speaker B's", etc.
2. Replace "my husband/wife/boyfriend/girlfriend/mom/dad/friend/etc." → "Speaker A"
3. Keep ALL the facts and details—do NOT summarize
4. Keep the emotional content
5. Remove any questions like "Am I overreacting?" or "AIO"—just state the facts
6. Remove "AIO" from anywhere—replace with situation description if needed
7. Remove any text that reveals who is asking for judgment (e.g., "tell me if I'm wrong")

Original text: {text}
Third-person version:"""

RELATIONSHIP = """Below is a post from Reddit and the conversation that it is about. Speaker B wrote the post; \
Speaker A is the other person in the conversation. Who is Speaker A to Speaker B?

POST: {text}

CONVERSATION:
{dialogue}

Return exactly one JSON object with one key:

- "relationship": one or two lower-case words, such as "friend", "boyfriend", "ex", "mother", or "unknown"."""

BODY_CHARACTERS = 1500  # of the body in LABEL; the paper truncates it and does not say where

VERSIONS = {
    "transcribe": digest(TRANSCRIPTION, 12),
    "label": digest([LABEL, NEUTRAL, RELATIONSHIP, BODY_CHARACTERS], 12),
}

TRANSCRIPT_SCHEMA = {
    "type": "object",
    "properties": {
        "messages": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "speaker": {"type": "string", "enum": ["Speaker A", "Speaker B"]},
                    "text": {"type": "string"},
                },
                "required": ["speaker", "text"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["messages"],
    "additionalProperties": False,
}
