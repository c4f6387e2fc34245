"""Turns keywords into the JSON that the native side takes and checks."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from . import _native
from .errors import ConfigError


def config_json(
    learner: str | None,
    tasks: int | list[str] | None,
    features: int | None,
    stream: Mapping[str, Any] | None,
    query: Any,
    shards: int | Mapping[str, Any] | None,
    params: dict[str, Any],
) -> str:
    """The config of a learner, as in a `--config` file."""
    name = _native.default_learner() if learner is None else learner
    if not isinstance(name, str):
        raise ConfigError(f"learner: found {name!r}; expected one of {', '.join(known())}")
    tree = {
        "learner": {name: params},
        "tasks": tasks,
        "features": features,
        "stream": stream,
        "query": query,
        "shards": shards if shards is None or isinstance(shards, Mapping) else {"count": shards},
    }
    return json.dumps(plain(tree, ""))


def known() -> list[str]:
    """Ids of all learners."""
    return list(about())


def about() -> dict[str, dict[str, Any]]:
    """What is known about every learner, by id."""
    return {learner["id"]: learner for learner in json.loads(_native.algorithms())}


def plain(value: Any, path: str) -> Any:
    """A value as plain JSON. None is left out; `_` in keywords stands for `-`."""
    if isinstance(value, Mapping):
        named = {str(key).replace("_", "-"): entry for key, entry in value.items() if entry is not None}
        return {key: plain(entry, f"{path}.{key}" if path else key) for key, entry in named.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist(), path)
    if isinstance(value, list | tuple):
        return [plain(entry, f"{path}.{at}") for at, entry in enumerate(value)]
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigError(f"{path}: must be a finite number, got {value}")
    if value is None or isinstance(value, str | int | float):
        return value
    raise ConfigError(f"{path}: found {value!r}; expected a number, a text, a list or a dictionary")
