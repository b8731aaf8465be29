"""The help centre of Thistlewick with its search and its answering apart.

It is deterministic and needs no package. To evaluate an application of your
own, keep the class and replace the bodies: search your index in `retrieve`, call
your model in `generate`.
"""

import json
import re
from pathlib import Path

from oloproof import Passage, Retrieval, rag_system

CORPUS = Path(__file__).parent / "data" / "corpus.jsonl"
NO_ANSWER = "Sorry, the help centre has nothing about that."

# Words that say nothing about what a question is about.
STOP_WORDS = frozenset(
    """
    a about after an and any are as at be been before between but by can did do does
    for from get had has have how i if in into is it its me my no not of on only or our so still than that
    many much the their them then there these they this to was we were what when where which who why will with
    would you your
    """.split()
)


def terms(text):
    """The different words of a text, without stop words and plural s."""
    words = set()
    for word in re.findall(r"[^\W_]+", text.lower()):
        if word in STOP_WORDS:
            continue
        if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
            word = word[:-1]
        words.add(word)
    return words


@rag_system(
    name="thistlewick-help",
    version="tutorial",
    depth=6,
    top_k=2,
    token_budget=40,
    index_version="thistlewick-1",
)
class HelpCentre:
    """Two stages: oloproof assembles the context between them."""

    def __init__(self):
        with CORPUS.open(encoding="utf-8") as lines:
            self.passages = [json.loads(line) for line in lines]

    def retrieve(self, input, depth):
        """The passages that share words with the question, best first."""
        wanted = terms(input["question"])
        scored = [(len(wanted & terms(p["text"])), p) for p in self.passages]
        found = sorted((s for s in scored if s[0] > 0), key=lambda s: -s[0])
        return Retrieval(
            query=input["question"],
            depth=depth,
            candidates=[Passage(doc_id=p["id"], score=float(n), text=p["text"]) for n, p in found[:depth]],
        )

    def generate(self, input, context):
        """The sentence of the passages that shares most words with the question."""
        wanted, best = terms(input["question"]), -1
        output = {"answer": NO_ANSWER, "citations": []}
        for passage in context:
            for sentence in passage.text.split(". "):
                n = len(wanted & terms(sentence))
                if n > best:
                    answer = (sentence[:-1] if sentence.endswith(".") else sentence) + "."
                    best, output = n, {"answer": answer, "citations": [passage.doc_id]}
        return output

    def count_tokens(self, passage):
        """The unit of the token budget: words."""
        return len((passage.text or "").split())
