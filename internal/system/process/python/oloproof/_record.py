"""The values that a system records, and who records them."""

import contextvars
import difflib
import json
import re

KIND = re.compile(r"[a-z][a-z0-9_]*(/v[1-9][0-9]*)?")

RETRIEVAL = "retrieval/v1"
CONTEXT = "context/v1"
CITATIONS = "citations/v1"

#: Known names of kinds, which exist in these versions only.
NAMED = {kind.split("/")[0]: kind for kind in (RETRIEVAL, CONTEXT, CITATIONS, "stage_timings/v1")}


class ArtifactError(TypeError):
    """An artifact that is not what its kind asks for. It ends the run."""

    def __init__(self, kind, message):
        super().__init__(f"malformed {kind} artifact: {message}")
        self.kind = kind
        self.problem = message


MISSING = object()


class Record:
    """A value with named fields that does not change."""

    _kind = ""
    _fields = {}

    def __init__(self, **given):
        name = type(self).__name__
        for key in given:
            if key not in self._fields:
                near = difflib.get_close_matches(key, self._fields, 1, 0.5)
                hint = f"did you mean {near[0]!r}?" if near else "it has " + ", ".join(self._fields)
                raise ArtifactError(self._kind, f"{name} has no field {key!r}; {hint}")
        for key, default in self._fields.items():
            value = given.get(key, default)
            if value is MISSING:
                raise ArtifactError(self._kind, f"{name} needs the field {key!r}")
            object.__setattr__(self, key, value)

    def __setattr__(self, key, value):
        raise AttributeError(
            f"{type(self).__name__} does not change: make another one, such as by model_copy(update={{{key!r}: ...}})"
        )

    def __repr__(self):
        return f"{type(self).__name__}({', '.join(f'{key}={getattr(self, key)!r}' for key in self._fields)})"

    def __eq__(self, other):
        return type(self) is type(other) and all(
            getattr(self, key) == getattr(other, key) for key in self._fields
        )

    def __hash__(self):
        return hash((type(self).__name__, repr(self)))

    def model_dump(self, **_):
        """The fields as plain values."""
        return {key: plain(getattr(self, key)) for key in self._fields}

    def model_copy(self, *, update=None, **_):
        """Another one of these, with some fields changed."""
        return type(self)(**{**{key: getattr(self, key) for key in self._fields}, **(update or {})})

    @classmethod
    def model_validate(cls, value):
        """One of these, from a mapping."""
        return value if isinstance(value, cls) else cls(**dict(value))


class Passage(Record):
    """A passage that was retrieved. Its rank is its place in the list."""

    _kind = RETRIEVAL
    _fields = {"doc_id": MISSING, "chunk_id": None, "score": None, "text": None, "metadata": MISSING}

    def __init__(self, **given):
        given.setdefault("metadata", {})
        super().__init__(**given)


class Retrieval(Record):
    """What was retrieved for one question, in the retriever's order."""

    _kind = RETRIEVAL
    _fields = {"query": None, "depth": MISSING, "candidates": MISSING}

    def __init__(self, **given):
        super().__init__(**given)
        object.__setattr__(self, "candidates", _each(self, "candidates", Passage))


class ContextItem(Record):
    """A passage that reached the model."""

    _kind = CONTEXT
    _fields = {"doc_id": MISSING, "chunk_id": None, "position": None, "tokens": None, "text": None}


class DroppedItem(ContextItem):
    """A passage that was left out, with the reason: top_k or token_budget."""

    _fields = {**ContextItem._fields, "reason": MISSING}


class Context(Record):
    """What reached the model, and what was left out."""

    _kind = CONTEXT
    _fields = {"items": MISSING, "dropped": (), "token_budget": None, "source": "retrieval"}

    def __init__(self, **given):
        super().__init__(**given)
        object.__setattr__(self, "items", _each(self, "items", ContextItem))
        object.__setattr__(self, "dropped", _each(self, "dropped", DroppedItem))


def _each(record, field, cls):
    """The elements of a field as a tuple of one class."""
    value = getattr(record, field)
    name = f"{type(record).__name__}.{field}"
    if isinstance(value, (str, bytes, dict)) or not hasattr(value, "__iter__"):
        raise ArtifactError(record._kind, f"{name} is a list of {cls.__name__}, not {_shown(value)}")
    out = []
    for i, element in enumerate(value):
        if isinstance(element, dict):
            element = cls(**element)
        elif not isinstance(element, cls):
            raise ArtifactError(record._kind, f"{name}[{i}] is a {cls.__name__}, not {_shown(element)}")
        out.append(element)
    return tuple(out)


def _shown(value):
    text = repr(value)
    if len(text) > 60:
        text = text[:60] + "…"
    return f"the {type(value).__name__} {text}"


def plain(value):
    """A value as what JSON has."""
    if isinstance(value, Record):
        return value.model_dump()
    if isinstance(value, (list, tuple)):
        return [plain(element) for element in value]
    return value


def _default(value):
    """What json.dumps is given for a value that it does not know."""
    if isinstance(value, Record):
        return {key: getattr(value, key) for key in value._fields if key != "metadata" or value.metadata}
    if hasattr(value, "model_dump"):  # pydantic
        return value.model_dump(mode="json")
    if type(value).__module__ == "numpy" and hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "gi_frame") or hasattr(value, "ag_frame"):
        raise TypeError("a generator is no output (the code says yield): return the whole of it")
    raise TypeError(f"{_shown(value)} is nothing that JSON has")


class NotJSON(ValueError):
    """A value that JSON cannot hold."""


_encoder = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_default
)


def dumps(value, what):
    """A value as JSON text; what names it in errors."""
    try:
        text = _encoder.encode(value)
        text.encode("utf-8")
        return text
    except UnicodeEncodeError:
        raise NotJSON(f"{what} holds half of a surrogate pair, which no UTF-8 text has") from None
    except RecursionError:
        raise NotJSON(f"{what} is nested too deeply, or inside itself") from None
    except ValueError as err:
        if "Circular" in str(err):
            raise NotJSON(f"{what} is nested inside itself") from None
        raise NotJSON(f"{what} holds NaN or an infinity, which JSON does not have") from None
    except TypeError as err:
        raise NotJSON(f"{what} cannot be written as JSON: {err}") from None


class CaseRecorder:
    """Records what a system did for one case."""

    replicate = 0

    def __init__(self, stage=False):
        self._stage = stage
        self._artifacts = []
        self._usage = []
        self._refused = None  # the first malformed artifact: it counts even when the system catches it

    def retrieval(self, retrieval):
        """Records what was retrieved: a Retrieval, or a mapping."""
        return self.artifact(RETRIEVAL, retrieval)

    def context(self, context):
        """Records what reached the model: a Context, or a mapping."""
        return self.artifact(CONTEXT, context)

    def citations(self, ids):
        """Records the cited ids, each DOC_ID or DOC_ID#CHUNK_ID."""
        if not isinstance(ids, (str, dict)):
            ids = list(ids)
        return self.artifact(CITATIONS, ids if isinstance(ids, dict) else {"ids": ids})

    def artifact(self, kind, data):
        """Records an artifact of any kind."""
        try:
            if not isinstance(kind, str) or not KIND.fullmatch(kind):
                raise ArtifactError(
                    "unnamed", f"the kind {kind!r} is a lower case name with a version, such as retrieval/v1"
                )
            if self._stage:
                raise ArtifactError(kind, "a stage records nothing: what it returns is recorded")
            known = NAMED.get(kind.split("/")[0])
            if known and known != kind:
                raise ArtifactError(kind, f"there is no such kind; it is {known}")
            try:
                text = dumps(data, "it")
            except NotJSON as err:
                raise ArtifactError(kind, str(err)) from None
        except ArtifactError as err:
            self._refused = self._refused or err
            raise
        self._artifacts.append((kind, text))

    record = artifact

    def usage(self, *, input_tokens=None, output_tokens=None, cost_usd=None):
        """Records what a call of a model took. Several calls add up."""
        self._usage.append(
            {"input_tokens": input_tokens, "output_tokens": output_tokens, "cost_usd": cost_usd}
        )

    def _used(self):
        """What all calls took: a figure that one of them left out is not known."""
        said = [use for use in self._usage if any(value is not None for value in use.values())]
        total = {}
        for key in ("input_tokens", "output_tokens", "cost_usd"):
            values = [use[key] for use in said]
            if values and None not in values:
                total[key] = sum(values)
        return total

    def __getattr__(self, name):
        if name in ("agent_trajectory", "media", "rl_episode", "simulated_user"):
            raise AttributeError(f"recording {name} is not supported by this tool")
        raise AttributeError(
            f"a recorder has no {name!r}; it has retrieval, context, citations, artifact and usage"
        )


_current = contextvars.ContextVar("oloproof_case", default=None)


def current_case():
    """The recorder of the case that is running."""
    recorder = _current.get()
    if recorder is None:
        raise RuntimeError(
            "current_case() is for the function that oloproof calls, and for threads that it starts "
            "with its context (asyncio.to_thread, contextvars.copy_context().run)"
        )
    return recorder
