"""A model that says what a test wrote for it, over Anthropic's Messages API."""

import json
import threading
import uuid
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Says:
    """An answer in words, which ends the turn."""

    text: str

    def block(self) -> dict[str, Any]:
        return {"type": "text", "text": self.text}


@dataclass(frozen=True)
class Calls:
    """A call of a tool, by the name that the client gave it."""

    tool: str
    arguments: dict[str, Any]

    def block(self) -> dict[str, Any]:
        call_id = f"toolu_{uuid.uuid4().hex[:20]}"
        return {"type": "tool_use", "id": call_id, "name": self.tool, "input": self.arguments}


Step = Says | Calls


@dataclass
class ScriptedModel:
    """Answers each request of the main conversation with the next step; keeps every request.

    A request that offers no tools is on the side (a title, a summary) and takes no step.
    """

    url: str
    steps: list[Step] = field(default_factory=list[Step])
    requests: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def will(self, *steps: Step) -> None:
        self.steps = list(steps)

    def next_step(self, request: dict[str, Any]) -> Step:
        self.requests.append(request)
        if not request.get("tools"):
            return Says("Aside")
        return self.steps.pop(0) if self.steps else Says("There is nothing left to say.")


@contextmanager
def scripted_model() -> Generator[ScriptedModel]:
    """A model of one's own, on a free port of this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    server.daemon_threads = True
    model = ScriptedModel(f"http://127.0.0.1:{server.server_port}")
    server.RequestHandlerClass = _handler(model)
    serving = threading.Thread(target=server.serve_forever, daemon=True)
    serving.start()
    yield model
    server.shutdown()
    server.server_close()
    serving.join()


def _handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            if self.path.partition("?")[0] != "/v1/messages":
                self.send_error(404)
                return
            events = _events(model.next_step(json.loads(body)))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("connection", "close")
            self.end_headers()
            for event in events:
                self.wfile.write(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n".encode())

        def do_HEAD(self) -> None:
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name
            pass

    return Handler


def _events(step: Step) -> Sequence[dict[str, Any]]:
    """The stream of one answer: a message with one block, which comes in one piece."""
    block = step.block()
    delta: dict[str, Any]
    if isinstance(step, Says):
        opened = {**block, "text": ""}
        delta = {"type": "text_delta", "text": step.text}
    else:
        opened = {**block, "input": dict[str, Any]()}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(step.arguments)}
    message = {
        "id": f"msg_{uuid.uuid4().hex[:20]}",
        "type": "message",
        "role": "assistant",
        "model": "scripted",
        "content": list[Any](),
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 1, "output_tokens": 1},
    }
    reason = "end_turn" if isinstance(step, Says) else "tool_use"
    return (
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": opened},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": reason, "stop_sequence": None},
            "usage": {"output_tokens": 1},
        },
        {"type": "message_stop"},
    )
