"""The help centre of app.py over HTTP, for oloproof.http.yaml.

    python3 server.py 8766

A service cannot record anything with oloproof, so its response says it all: the
answer below ``result``, what was done to get there below ``evidence``.
"""

import json
import sys
import types
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

try:
    import oloproof  # noqa: F401
except ModuleNotFoundError:
    # app.py imports it for its function run, which nobody calls here.
    stand_in = types.ModuleType("oloproof")
    for name in ("Context", "ContextItem", "DroppedItem", "Passage", "Retrieval", "current_case"):
        setattr(stand_in, name, None)
    stand_in.system = lambda **_: lambda function: function
    sys.modules["oloproof"] = stand_in

from app import SEARCH_DEPTH, TOKEN_BUDGET, help_centre


def respond(question):
    reply = help_centre(question)
    return {
        "result": {"answer": reply["answer"], "citations": reply["cited"]},
        "evidence": {
            "retrieval": {
                "query": reply["query"],
                "depth": SEARCH_DEPTH,
                "candidates": [{"doc_id": p["id"], "score": p["score"], "text": p["text"]} for p in reply["found"]],
            },
            "context": {
                "items": [
                    {"doc_id": p["id"], "position": p["rank"], "tokens": p["words"], "text": p["text"]}
                    for p in reply["prompt"]
                ],
                "dropped": [
                    {"doc_id": p["id"], "position": p["rank"], "tokens": p["words"], "reason": p["why"]}
                    for p in reply["left_out"]
                ],
                "token_budget": TOKEN_BUDGET,
            },
            "citations": {"ids": reply["cited"]},
        },
    }


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer(200, {"status": "ok"})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        try:
            question = json.loads(body)["question"]
        except (ValueError, KeyError, TypeError):
            self.answer(400, {"error": 'the body has no "question"'})
            return
        self.answer(200, respond(question))

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8766
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
