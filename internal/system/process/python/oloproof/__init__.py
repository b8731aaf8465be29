"""What a project that is evaluated by oloproof imports.

This module comes with the oloproof program and is there while it runs the
project; nothing has to be installed.
"""

from ._record import (
    ArtifactError,
    CaseRecorder,
    Context,
    ContextItem,
    DroppedItem,
    Passage,
    Retrieval,
    current_case,
)

__all__ = [
    "ArtifactError",
    "CaseRecorder",
    "Context",
    "ContextItem",
    "DroppedItem",
    "Passage",
    "Retrieval",
    "TransientError",
    "current_case",
    "rag_system",
    "system",
]


class TransientError(Exception):
    """Raised by a system for a failure that another call may not meet."""


def system(func=None, *, name=None, version=None, config=None, timeout_s=None, records=(), **other):
    """Declares a function that answers one case.

    It is given the input of the case and returns the output. ``records`` names
    the kinds of artifact that it records through ``current_case()``.
    """
    _refuse("system", other)
    declared = {
        "name": name,
        "version": version,
        "config": dict(config or {}),
        "timeout_s": timeout_s,
        "records": [records] if isinstance(records, str) else list(records),
    }

    def declare(target):
        if getattr(target, "__self__", None) is not None:  # a bound method takes no attributes
            method = target

            def target(case):
                return method(case)

            target.__module__, target.__name__ = method.__module__, method.__name__
        target.__oloproof_system__ = declared
        return target

    return declare if func is None else declare(func)


def rag_system(
    *,
    name,
    depth,
    top_k,
    token_budget=None,
    index_version=None,
    version=None,
    config=None,
    citations_path="citations",
    **other
):
    """Declares a class with ``retrieve(input, depth)`` and ``generate(input, context)``,
    and ``count_tokens(passage)`` when there is a token budget.
    """
    _refuse("rag_system", other)
    declared = {
        "name": name,
        "depth": depth,
        "top_k": top_k,
        "token_budget": token_budget,
        "index_version": index_version,
        "version": version,
        "config": dict(config or {}),
        "citations_path": citations_path,
    }

    def declare(cls):
        cls.__oloproof_rag__ = declared
        return cls

    return declare


def _refuse(what, other):
    for key in other:
        if key in ("simulated_user", "per_step", "environment"):
            if not other[key]:
                continue
            raise TypeError(f"{what}(): {key} is not supported by this tool")
        raise TypeError(f"{what}() has no setting {key!r}")


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError(name)
    raise ImportError(
        f"the module oloproof that comes with the oloproof program has no {name!r}; it has {', '.join(__all__)}"
    )
