"""Made records in the nine publishers' schemas, by number; every word is ours. GPQA's ids are published ones."""

from studies.dialdefer.release import published_ids
from studies.dialdefer.unified.converters import PLAUSIBILITY, SOCIALIQA_ANSWERS

DIMENSIONS = ("xWant", "xAttr", "xIntent", "xReact", "xNeed", "oWant", "oReact", "oEffect", "xEffect")
DOMAINS = ("Physics", "Chemistry", "Biology")


def question(dataset, i):
    """A question that is asked once in all datasets."""
    return f"Who of them was right about the café's sign in case {i} of {dataset}?"


def answers(i, n):
    """n different answers."""
    return [f"The clerk of house {i + k}" for k in range(n)]


def truthfulqa(i):
    kind = {"Type": ("Adversarial", "Non-Adversarial")[i % 2], "Category": f"Matters of house {i % 10}"}
    right, wrong = answers(i, 2)
    return {**kind, "Question": question("truthfulqa", i), "Best Answer": right, "Best Incorrect Answer": wrong}


def advisorqa(i):
    suffix = answers(i, 2 + i % 5)
    reward = [12 - 3 * k for k in range(len(suffix))]
    prefix, label = [question("advisorqa", i)] * len(suffix), ("safe", "unsafe")[i % 2]
    return {"prefix": prefix, "suffix": suffix, "reward": reward, "sft_index": 0, "label": label}


def amqa(i):
    texts, asked = answers(i, 4), question("amqa", i)
    return {
        "question_id": str(i),
        "original_question": asked,
        "desensitized_question": f"Somebody asks: {asked}",
        "options": dict(zip("ABCD", texts, strict=True)),
        "answer": texts[i % 4],
        "answer_idx": "ABCD"[i % 4],
    }


def bbq(i, stem="Age"):
    """Even lines ambiguous, odd lines disambiguated."""
    one, other = answers(i, 2)
    return {
        "question_polarity": ("neg", "nonneg")[i // 2 % 2],
        "context_condition": ("ambig", "disambig")[i % 2],
        "category": stem,
        "context": f"The clerks of two houses met {i} times.",
        "question": f"Who of them was late in {stem} case {i}?",
        "ans0": one,
        "ans1": other,
        "ans2": "Not known",
        "label": 2 if i % 2 == 0 else i // 2 % 2,
    }


def gpqa(i):
    texts, ids = answers(i, 4), published_ids()["gpqa"]
    return {
        "Question": "It rained. \n\n" + question("gpqa", i),
        "Correct Answer": texts[0],
        **{f"Incorrect Answer {k}": texts[k] for k in (1, 2, 3)},
        "Explanation": "One line, \nand another\n",
        "Subdomain": "Studies of the café",
        "Writer's Difficulty Estimate": "Hard graduate level",
        "Record ID": ids[-i - 1].removeprefix("gpqa-") if i < len(ids) else f"recMade{i:010}",
        "High-level domain": DOMAINS[i % len(DOMAINS)],
    }


def halueval(i):
    right, wrong = answers(i, 2)
    asked = {"knowledge": f"{' ' * (i % 3 == 0)}It rained.", "question": question("halueval", i)}
    return {**asked, "right_answer": right, "hallucinated_answer": f"{wrong} was the only one who was right."}


def harp(i):
    return {
        "year": "2000",
        "contest": f"MADE_{i // 25}",
        "number": i % 25 + 1,
        "level": i % 4 + 1,
        "subject": "counting",
        "multiple_choice_only": i % 7 == 0,
        "choices": dict(zip("ABCDE", (f"${i + k}$" for k in range(5)), strict=True)),
        "problem": f"{question('harp', i)} Let $n={i}$.",
        "answer_choice": "ABCDE"[i % 5],
        "solution_1": "Count them.",
        "num_solutions": 1,
    }


def plausibleqa(i):
    candidates = {text: {PLAUSIBILITY: (k * 37 + i) % 101 / 101} for k, text in enumerate(answers(i, 10))}
    return {
        "id": f"made_{i}",
        "question": question("plausibleqa", i),
        "answer": "The clerk of no house",
        "candidate_answers": candidates,
        "question_type": {"major": "HUM:HUMAN", "minor": "ind:Individual"},
        "question_difficulty": ("Easy", "Medium", "Hard")[i % 3],
        "answer_difficulty": ("Hard", "Easy")[i % 2],
    }


def socialiqa(i):
    """`charmap` in both forms that releases have."""
    right, sources, dimension = i % 3, ["qsa", "hca", "hia"], DIMENSIONS[i % len(DIMENSIONS)]
    return {
        "context": "The clerks met.",
        "question": f"What will Robin want to do in case {i}?",
        **dict(zip(SOCIALIQA_ANSWERS, answers(i, 3), strict=True)),
        "label_ix": right,
        "promptDim": dimension,
        "charmap": {"Robin": "X"} if i % 2 else '{"X": "Robin"}',
        "answerSourcesOrigins": sources,
        "answerSourcesWithCor": [*sources[:right], "cor", *sources[right + 1 :]],
        "promptQuestionFocusChar": dimension[0],
    }
