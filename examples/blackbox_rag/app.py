"""The help centre of Thistlewick, and how oloproof looks at it.

``help_centre`` stands for an application of your own: a question in, an answer
out, with what was found, what went into the prompt and what is cited. It is the
same program that the oloproof binary carries for ``oloproof.yaml``, in Python.

``run`` is all that an application needs besides: it asks the application, and
records what that says it did. ``oloproof.callable.yaml`` names it.
"""

import json
import re
from pathlib import Path

from oloproof import Context, ContextItem, DroppedItem, Passage, Retrieval, current_case, system

CORPUS = Path(__file__).with_name("data") / "corpus.jsonl"

SEARCH_DEPTH = 6  # places asked of the search
TOP_K = 2  # places that may go into the prompt
TOKEN_BUDGET = 40  # words of passages in the prompt
NO_ANSWER = "Sorry, the help centre has nothing about that."

# The tutorial's candidate change: add synonyms to a question before searching.
# An edit of this file is a new version of the system, so nothing is reused.
EXPAND_QUERY = False

SYNONYMS = {
    "bill": ["invoice"],
    "colleague": ["seat"],
    "erase": ["deleted"],
    "membership": ["plan"],
    "money": ["refund"],
    "yearly": ["annual"],
}

# Words that say nothing about what a question is about.
STOP_WORDS = set(
    """a about after an and any are as at be been before between but by can did do does
    for from get had has have how i if in into is it its me my no not of on only or our so still than that
    many much the their them then there these they this to was we were what when where which who why will with
    would you your""".split()
)


def terms(text):
    """The different words of a text without stop words and without a plural s."""
    found = set()
    for word in re.findall(r"[^\W_]+", text.lower()):
        if word in STOP_WORDS:
            continue
        if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
            word = word[:-1]
        found.add(word)
    return found


def read_corpus():
    with open(CORPUS, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def search(query, depth):
    """The passages that share a term with the query, best first."""
    wanted = terms(query)
    scored = [(len(wanted & terms(p["text"])), p) for p in read_corpus()]
    found = [(score, p) for score, p in scored if score > 0]
    found.sort(key=lambda pair: -pair[0])  # equals keep the order of the corpus
    return found[:depth]


def expand(question):
    added = sorted(synonym for word in terms(question) for synonym in SYNONYMS.get(word, []))
    return " ".join([question, *added])


def best_sentence(question, passages):
    """The sentence that shares most terms with the question, and its passage."""
    wanted, best = terms(question), (-1, "", None)
    for passage in passages:
        for sentence in passage["text"].split(". "):
            shared = len(wanted & terms(sentence))
            if shared > best[0]:
                best = (shared, sentence.rstrip(".") + ".", passage)
    return best[1], best[2]


def help_centre(question):
    """Answers a question, and says how it came to the answer."""
    query = expand(question) if EXPAND_QUERY else question
    found = [{"id": p["id"], "score": score, "text": p["text"]} for score, p in search(query, SEARCH_DEPTH)]
    for rank, passage in enumerate(found, start=1):
        passage["rank"] = rank
        passage["words"] = len(passage["text"].split())

    prompt, left_out = found[:TOP_K], []
    while sum(p["words"] for p in prompt) > TOKEN_BUDGET:
        left_out.insert(0, dict(prompt.pop(), why="token_budget"))
    left_out += [dict(p, words=None, why="top_k") for p in found[TOP_K:]]

    answer, cited = NO_ANSWER, []
    if prompt:
        answer, source = best_sentence(query, prompt)
        cited = [source["id"]]
    return {"answer": answer, "cited": cited, "query": query, "found": found, "prompt": prompt, "left_out": left_out}


@system(records=["retrieval/v1", "context/v1", "citations/v1"])
def run(case):
    """Answers one case; case is the case's input."""
    reply = help_centre(case["question"])
    recorder = current_case()
    recorder.retrieval(
        Retrieval(
            query=reply["query"],
            depth=SEARCH_DEPTH,
            candidates=[Passage(doc_id=p["id"], score=p["score"], text=p["text"]) for p in reply["found"]],
        )
    )
    recorder.context(
        Context(
            items=[
                ContextItem(doc_id=p["id"], position=p["rank"], tokens=p["words"], text=p["text"])
                for p in reply["prompt"]
            ],
            dropped=[
                DroppedItem(doc_id=p["id"], position=p["rank"], tokens=p["words"], reason=p["why"])
                for p in reply["left_out"]
            ],
            token_budget=TOKEN_BUDGET,
        )
    )
    recorder.citations(reply["cited"])
    return {"answer": reply["answer"], "citations": reply["cited"]}
