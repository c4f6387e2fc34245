"""A client of `cognate serve`, with nothing but the standard library.

What `learn` returns is on the server's disk. A request that may or may not have arrived is sent again under the same
`Idempotency-Key`, which the server's log remembers: nothing is learnt twice.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import ssl
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, Union
from urllib.parse import quote, urlencode, urlsplit

from .errors import CognateError

Features = Union[Mapping[str, float], tuple[Sequence[int], Sequence[float]]]
"""Values by name, or a pair of indices and values."""


class _Needed(TypedDict):
    features: Features


class Example(_Needed, total=False):
    """An example as `learn` and `predict` take it. Without a task it belongs to the task `default`."""

    task: str
    label: float
    weight: float
    offset: float
    time: float
    id: str


@dataclass(frozen=True)
class Prediction:
    """What the model says of an example."""

    label: float
    margin: float
    probability: float | None = None
    uncertainty: float | None = None


@dataclass(frozen=True)
class Learned:
    """What was learnt. `margins` are those of the examples before they were learnt, `seq` is the entry of the log."""

    seq: int
    learned: int
    margins: list[float]


@dataclass(frozen=True)
class Labelled(Learned):
    """What labels taught. Nothing is remembered of `unknown` ids; the examples of `again` had been learnt before."""

    unknown: list[str]
    again: list[str]


class ServerError(CognateError, RuntimeError):
    """The server refused: `status`, `code`, the place in the body (`path`) and a way out (`hint`), if it said so."""

    def __init__(self, status: int, code: str, message: str, path: str | None = None, hint: str | None = None) -> None:
        place = f"{path}: " if path else ""
        super().__init__(f"{place}{message}" + (f" ({hint})" if hint else ""))
        self.status, self.code, self.path, self.hint = status, code, path, hint


class ServerUnreachable(CognateError, ConnectionError):
    """No answer, however often it was asked. Whether the request arrived is not known; sent again under its key it counts once."""


# Statuses after which the same request may succeed.
_TRY_AGAIN = (429, 502, 503, 504)
_LONGEST_WAIT = 5.0


class Client:
    """Learns and predicts with a model of a running `cognate serve`. It may be used by several threads.

    `token` is by default the environment variable COGNATE_TOKEN. A request that fails on its way, or that the server cannot
    take at present, is sent up to `retries` times more, each time after a longer wait.

        client = Client("http://127.0.0.1:7117", model="default")
        client.learn_one({"offer": 1.0, "hello": 0.5}, +1, task="alice")
        client.predict_one({"offer": 1.0}, task="bob").label
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:7117",
        model: str = "default",
        *,
        token: str | None = None,
        timeout: float = 30.0,
        retries: int = 5,
        context: ssl.SSLContext | None = None,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"found the address {url!r}; expected http://HOST:PORT or https://HOST:PORT")
        if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
            raise ValueError("the address holds more than a host, a port and a path; a token is given as `token`")
        self._secure, self._host, self._port = parts.scheme == "https", parts.hostname, parts.port
        self._base = parts.path.rstrip("/") + "/v1/models/" + quote(model, safe="")
        self._token = os.environ.get("COGNATE_TOKEN") if token is None else token
        self._timeout, self._retries, self._context = timeout, retries, context
        self._of_thread = threading.local()

    def learn(self, examples: Iterable[Example], *, key: str | None = None) -> Learned:
        """Learns labelled examples; returns when they are on the server's disk.

        One bad example refuses all of them. `key` names the request: sent again under the same key, even by another process,
        it is answered as before and learnt once. Without one, every call is a request of its own.
        """
        answer = self._learning("/learn", {"examples": [_example(example) for example in examples]}, key)
        return Learned(answer["seq"], answer["learned"], answer["margins"])

    def learn_one(
        self, features: Features, label: float, *, task: str | None = None, weight: float | None = None, key: str | None = None
    ) -> float:
        """Learns an example; returns its margin before."""
        example: Example = {"features": features, "label": label}
        if task is not None:
            example["task"] = task
        if weight is not None:
            example["weight"] = weight
        return self.learn([example], key=key).margins[0]

    def predict(self, examples: Iterable[Example]) -> list[Prediction]:
        """Predicts examples. One with an `id` is remembered, so that `label` can teach it later."""
        body = {"examples": [_example(example) for example in examples]}
        return [Prediction(**_known(one, Prediction)) for one in self._json("POST", "/predict", body)["predictions"]]

    def predict_one(self, features: Features, *, task: str | None = None, id: str | None = None) -> Prediction:
        """Predicts an example."""
        example: Example = {"features": features}
        if task is not None:
            example["task"] = task
        if id is not None:
            example["id"] = id
        return self.predict([example])[0]

    def label(self, labels: Mapping[str, float], *, key: str | None = None) -> Labelled:
        """Labels, by id, of examples that were predicted. An id is learnt once, however often its label comes."""
        body = {"labels": [{"id": id, "label": _number(label, "label")} for id, label in labels.items()]}
        answer = self._learning("/labels", body, key)
        return Labelled(answer["seq"], answer["learned"], answer["margins"], answer["unknown"], answer["again"])

    def tasks(self, *, sort: str | None = None, q: str | None = None, page: int = 100) -> Iterator[dict[str, Any]]:
        """All tasks that the token sees, fetched page by page; sorted, and those whose names contain `q`."""
        asked = {"sort": sort, "q": q, "limit": page, "cursor": None}
        while True:
            words = urlencode({name: value for name, value in asked.items() if value is not None})
            answer = self._json("GET", f"/tasks?{words}")
            yield from answer["tasks"]
            asked["cursor"] = answer.get("next_cursor")
            if asked["cursor"] is None:
                return

    def task(self, name: str) -> dict[str, Any]:
        """What is known of a task: counts, curve, nearest tasks, strongest features."""
        return self._json("GET", "/tasks/" + quote(name, safe=""))

    def forget(self, task: str) -> dict[str, Any]:
        """Forgets a task for good. What its examples taught the part that all tasks share stays."""
        return self._json("DELETE", "/tasks/" + quote(task, safe=""))

    def summary(self) -> dict[str, Any]:
        """Learner, examples, mistakes, error, tasks, last entry of the log."""
        return self._json("GET", "")

    def snapshot(self, path: str | os.PathLike[str] | None = None) -> bytes:
        """The model as the bytes of a model file, which `Learner.load` and `cognate inspect` read; also written to `path`."""
        model = self._ask("GET", "/snapshot", None, {})
        if path is not None:
            Path(path).write_bytes(model)
        return model

    def close(self) -> None:
        """Closes this thread's connection; the next request opens another."""
        connection = getattr(self._of_thread, "connection", None)
        if connection is not None:
            connection.close()
            self._of_thread.connection = None

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _learning(self, path: str, body: Any, key: str | None) -> dict[str, Any]:
        return self._json("POST", path, body, {"Idempotency-Key": uuid.uuid4().hex if key is None else key})

    def _json(self, method: str, path: str, body: Any = None, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
        sent = None if body is None else json.dumps(body, allow_nan=False).encode()
        answer: dict[str, Any] = json.loads(self._ask(method, path, sent, dict(headers or {})))
        return answer

    def _ask(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> bytes:
        if self._token is not None:
            headers["Authorization"] = f"Bearer {self._token}"
        if body is not None:
            headers["Content-Type"] = "application/json"
        lost: OSError | http.client.HTTPException | None = None
        for attempt in range(self._retries + 1):
            wait = min(0.1 * 2**attempt, _LONGEST_WAIT) * random.uniform(0.5, 1.0)
            last = attempt == self._retries
            # A server closes connections on which nothing was asked for some seconds.
            idle = getattr(self._of_thread, "connection", None) is not None
            try:
                status, answer, after = self._once(method, path, body, headers)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                lost = error
                if last:
                    break
                if idle:
                    continue
            else:
                if status < 300:
                    return answer
                if status == 404 and method == "DELETE" and lost is not None:
                    # The request whose answer was lost has done it.
                    return b"{}"
                if last or status not in _TRY_AGAIN:
                    raise _refusal(status, answer)
                wait = min(max(wait, after), _LONGEST_WAIT)
            time.sleep(wait)
        where = f"{self._host}:{self._port or (443 if self._secure else 80)}"
        raise ServerUnreachable(f"{where}: no answer to {self._retries + 1} requests: {lost}") from lost

    def _once(self, method: str, path: str, body: bytes | None, headers: dict[str, str]) -> tuple[int, bytes, float]:
        """Status, body, and the seconds that the server asks to wait."""
        connection = getattr(self._of_thread, "connection", None)
        if connection is None:
            connection = self._of_thread.connection = self._connect()
        connection.request(method, self._base + path, body, headers)
        answer = connection.getresponse()
        content = answer.read()
        after = answer.getheader("Retry-After", "0")
        return answer.status, content, float(after) if after.isdecimal() else 0.0

    def _connect(self) -> http.client.HTTPConnection:
        if self._secure:
            return http.client.HTTPSConnection(self._host, self._port, timeout=self._timeout, context=self._context)
        return http.client.HTTPConnection(self._host, self._port, timeout=self._timeout)


def _number(value: Any, what: str) -> float:
    number = float(value)
    if number - number != 0:
        raise ValueError(f"{what}: must be finite, got {number}")
    return number


def _example(example: Example) -> dict[str, Any]:
    """An example as it is sent: NumPy's numbers become Python's."""
    sent: dict[str, Any] = dict(example)
    features = example["features"]
    if isinstance(features, Mapping):
        sent["features"] = {str(name): _number(value, f"features[{name!r}]") for name, value in features.items()}
    else:
        indices, values = features
        numbers = [_number(value, "features") for value in values]
        sent["features"] = {"indices": [int(index) for index in indices], "values": numbers}
    for name in ("label", "weight", "offset", "time"):
        if name in sent:
            sent[name] = _number(sent[name], name)
    return sent


def _known(answer: Mapping[str, Any], of: type) -> dict[str, Any]:
    """The fields that this client knows; a later server may send more."""
    return {name: value for name, value in answer.items() if name in of.__dataclass_fields__}  # type: ignore[attr-defined]


def _refusal(status: int, answer: bytes) -> ServerError:
    try:
        error = json.loads(answer)["error"]
        return ServerError(status, error["code"], error["message"], error.get("path"), error.get("hint"))
    except (ValueError, KeyError, TypeError):
        # A proxy has answered.
        return ServerError(status, "unknown", answer[:200].decode(errors="replace") or f"status {status}")
