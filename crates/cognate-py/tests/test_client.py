"""`Client` beside the real program. COGNATE names it; `cargo xtask python` builds it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from cognate import Client, CognateError, Learner, ServerError, ServerUnreachable

PROGRAM = os.environ.get("COGNATE")
needs_program = pytest.mark.skipif(PROGRAM is None, reason="COGNATE names no program; `cargo xtask python` does")


class Server:
    """The program on a folder and a free port."""

    def __init__(self, folder: Path, *flags: str) -> None:
        words = [str(PROGRAM), "serve", str(folder), "--listen", "127.0.0.1:0", "--log-level", "error", *flags]
        self.process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        first = self.process.stdout.readline()
        assert first.startswith("listening on "), first
        self.url = first.removeprefix("listening on ").strip()

    def end(self, how: signal.Signals) -> int:
        self.process.send_signal(how)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return self.process.wait(60)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "data")
    yield server
    assert server.end(signal.SIGTERM) == 0


@needs_program
def test_learn_predict_label_and_copy(server: Server, tmp_path: Path) -> None:
    with Client(server.url) as client:
        learned = client.learn(
            [
                {"task": "alice", "features": {"offer": 1.0, "hello": 0.5}, "label": 1, "weight": 2.0},
                {"task": "bob", "features": {"meeting": 1.0}, "label": -1},
            ]
        )
        assert (learned.seq, learned.learned, len(learned.margins)) == (1, 2, 2)
        assert isinstance(client.learn_one({"offer": 1}, 1, task="alice"), float)
        answer = client.predict_one({"offer": 1.0}, task="carol")
        assert answer.label == 1 and answer.margin > 0 and answer.probability is not None and answer.probability > 0.5
        client.predict_one({"meeting": 1.0}, task="bob", id="m-17")
        labelled = client.label({"m-17": -1, "m-18": 1})
        assert (labelled.learned, labelled.unknown, labelled.again) == (1, ["m-18"], [])
        assert client.label({"m-17": -1}).again == ["m-17"]
        assert client.summary()["examples"] == 4
        model = client.snapshot(tmp_path / "copy.cog")
        assert (tmp_path / "copy.cog").read_bytes() == model
    copy = Learner.load(tmp_path / "copy.cog")
    assert copy.predict_one({"offer": 1.0}, task="carol") == 1


@needs_program
def test_tasks_are_listed_page_by_page_and_forgotten(server: Server) -> None:
    client = Client(server.url)
    for at in range(7):
        client.learn([{"task": f"user {at}/ä", "features": {"a": 1.0}, "label": 1}] * (at + 1))
    rows = list(client.tasks(sort="examples", page=3))
    assert [row["task"] for row in rows] == [f"user {at}/ä" for at in range(6, -1, -1)]
    assert [row["task"] for row in client.tasks(q="user 3")] == ["user 3/ä"]
    assert client.task("user 3/ä")["row"]["examples"] == 4
    client.forget("user 3/ä")
    assert len(list(client.tasks())) == 6
    with pytest.raises(ServerError) as missing:
        client.task("user 3/ä")
    assert missing.value.status == 404


@needs_program
def test_the_same_key_is_learnt_once_even_after_a_kill(tmp_path: Path) -> None:
    server = Server(tmp_path / "data")
    first = Client(server.url).learn([{"features": {"a": 1.0}, "label": 1}], key="once")
    assert Client(server.url).learn([{"features": {"a": 1.0}, "label": 1}], key="once") == first
    server.end(signal.SIGKILL)
    server = Server(tmp_path / "data")
    client = Client(server.url)
    assert client.learn([{"features": {"a": 1.0}, "label": 1}], key="once") == first
    assert client.summary()["examples"] == 1
    with pytest.raises(ServerError) as refused:
        client.learn([{"features": {"a": 2.0}, "label": 1}], key="once")
    assert refused.value.status == 409
    assert server.end(signal.SIGTERM) == 0


@needs_program
def test_what_is_refused_says_where_and_is_not_sent_again(server: Server) -> None:
    client = Client(server.url)
    with pytest.raises(ServerError) as refused:
        client.learn([{"features": {"a": 1.0}, "label": 1}, {"features": {"a": 1.0}, "label": 7}])
    assert (refused.value.status, refused.value.path) == (422, "examples[1].label")
    assert client.summary()["examples"] == 0
    with pytest.raises(ServerError) as missing:
        Client(server.url, "other").summary()
    assert (missing.value.status, missing.value.code) == (404, "not_found")
    assert isinstance(missing.value, CognateError)
    with pytest.raises(ValueError, match=r"features\['a'\]: must be finite, got nan"):
        client.predict_one({"a": float("nan")})


@needs_program
def test_tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = [str(PROGRAM), "token", "mail", "--scopes", "learn,predict"]
    made = subprocess.run(words, capture_output=True, text=True, check=True)
    (tmp_path / "tokens").write_text(made.stdout)
    secret = made.stderr.rsplit(maxsplit=1)[-1]
    server = Server(tmp_path / "data", "--tokens", str(tmp_path / "tokens"))
    with pytest.raises(ServerError) as nobody:
        Client(server.url).predict_one({"a": 1.0})
    assert nobody.value.status == 401
    Client(server.url, token=secret).predict_one({"a": 1.0})
    monkeypatch.setenv("COGNATE_TOKEN", secret)
    client = Client(server.url)
    client.learn_one({"a": 1.0}, 1)
    with pytest.raises(ServerError) as forbidden:
        client.summary()
    assert forbidden.value.status == 403
    assert server.end(signal.SIGTERM) == 0


class Clumsy(HTTPServer):
    """Learns what comes, by key, and loses some of its answers on the way."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.learnt: list[str] = []
        self.asked = 0


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Clumsy

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        key = self.headers["Idempotency-Key"]
        self.server.asked += 1
        if key not in self.server.learnt:
            self.server.learnt.append(key)
        if self.server.asked == 1:
            # Learnt, and the answer is lost.
            self.close_connection = True
            return
        body = b'{"error":{"code":"unavailable","message":"later"}}' if self.server.asked == 2 else None
        answer = body or b'{"seq":1,"learned":1,"margins":[0.0],"more":true}'
        self.send_response(503 if body else 200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        pass


def test_an_answer_that_is_lost_is_asked_for_under_the_same_key() -> None:
    server = Clumsy()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client = Client(f"http://127.0.0.1:{server.server_port}")
    assert client.learn_one({"a": 1.0}, 1) == 0.0
    assert server.asked == 3 and len(server.learnt) == 1
    client.learn_one({"a": 1.0}, 1)
    assert len(server.learnt) == 2, "another call is another request"
    client.close()
    server.shutdown()
    server.server_close()


def test_nobody_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        with pytest.raises(ServerUnreachable, match=f"127.0.0.1:{port}: no answer to 2 requests: "):
            Client(f"http://127.0.0.1:{port}", retries=1).summary()


@pytest.mark.parametrize("url", ["127.0.0.1:7117", "ftp://x", "http://", "http://me:secret@x", "http://x?token=1"])
def test_addresses(url: str) -> None:
    with pytest.raises(ValueError, match="the address"):
        Client(url)
