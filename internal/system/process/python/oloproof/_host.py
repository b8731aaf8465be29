"""Calls a project's code for oloproof: one JSON object a line, see docs/systems.md."""

import ast
import asyncio
import contextvars
import difflib
import functools
import hashlib
import importlib
import inspect
import io
import json
import os
import sys
import sysconfig
import threading
import traceback

import oloproof

from . import _record

PROTOCOL = 1
HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MOST_LOG = 16 << 10  # characters that are kept of what is printed for one case
MOST_FRAMES = 8


class Refusal(Exception):
    """Why the code cannot be called at all."""

    def __init__(self, message, detail=""):
        super().__init__(message)
        self.detail = detail


class Fatal(Exception):
    """Why the run cannot go on."""


# --- standard streams


class Streams:
    """The protocol has the real standard streams for itself: whatever else reads
    standard input finds its end, whatever else prints prints to standard error."""

    def __init__(self):
        sys.stdout.flush()
        self.pid = os.getpid()
        self.input = os.fdopen(os.dup(0), "rb", 1 << 16)
        self.output = os.dup(1)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        self.lock = threading.Lock()
        sys.stdin = open(0, "r", closefd=False)
        sys.stdout = sys.stderr = Printed()

    def send(self, text):
        data = text.encode("utf-8") + b"\n"
        if os.getpid() != self.pid:  # a copy of this process that code under test made
            os._exit(0)
        with self.lock:
            view = memoryview(data)
            while view:
                view = view[os.write(self.output, view) :]


_log = contextvars.ContextVar("oloproof_log", default=None)


class Printed(io.TextIOBase):
    """Standard output and error of the project: what is printed for a case is
    kept with it, and all of it goes to standard error."""

    encoding = "utf-8"
    errors = "backslashreplace"

    @property
    def buffer(self):
        return Bytes(self)

    def fileno(self):
        return 2

    def writable(self):
        return True

    def reconfigure(self, **_):
        pass

    def write(self, text):
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        log = _log.get()
        if log is not None:
            log.add(text)
        put(text.encode("utf-8", "backslashreplace"))
        return len(text)


class Bytes(io.RawIOBase):
    """Takes bytes for Printed."""

    def __init__(self, text):
        self.text = text

    def writable(self):
        return True

    def write(self, data):
        self.text.write(bytes(data).decode("utf-8", "backslashreplace"))
        return len(data)


def put(data):
    """Writes to standard error, as much as somebody reads."""
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(2, view) :]
    except OSError:
        pass


class Log:
    """The end of what is printed for one case."""

    def __init__(self):
        self.parts = []
        self.size = 0

    def add(self, text):
        self.parts.append(text[-MOST_LOG:])
        self.size += len(self.parts[-1])
        if self.size > 2 * MOST_LOG:
            text = "".join(self.parts)[-MOST_LOG:]
            self.parts, self.size = ["…", text], len(text)

    def text(self):
        return "".join(self.parts)


# --- finding the code


def shown(path, project):
    """A path as it is told: from the project when it lies there."""
    real = os.path.realpath(path)
    return os.path.relpath(real, project) if inside(real, project) else path


def inside(path, directory):
    return path == directory or path.startswith(directory.rstrip(os.sep) + os.sep)


def frames(err, project):
    """The last frames of an exception: those of the project and below."""
    stack = [
        frame
        for frame in traceback.extract_tb(err.__traceback__)
        if not inside(os.path.abspath(frame.filename), HERE)
        and not frame.filename.startswith("<frozen")
        and frame.filename != importlib.__file__
    ]
    own = [i for i, frame in enumerate(stack) if inside(os.path.realpath(frame.filename), project)]
    if own:
        stack = stack[own[0] :]
    lines = []
    for frame in stack[-MOST_FRAMES:]:
        lines.append(f"{shown(frame.filename, project)}:{frame.lineno}, in {frame.name}")
        if frame.line:
            lines.append(f"    {frame.line}")
    if isinstance(err, SyntaxError) and err.filename:
        lines.append(f"{shown(err.filename, project)}:{err.lineno}")
        if err.text:
            lines.append(f"    {err.text.strip()}")
    return lines


def told(err, project):
    """An exception in one line, with its place, and its last frames."""
    name = type(err).__name__
    module = type(err).__module__
    if module not in ("builtins", "__main__", "oloproof._record"):
        name = f"{module}.{name}"
    try:
        said = err.msg if isinstance(err, SyntaxError) else str(err)
    except Exception as again:
        said = f"(its text cannot be made: {type(again).__name__})"
    text = " ".join(said.split())
    lines = frames(err, project)
    message = f"{name}: {text}" if text else name
    place = [line for line in lines if not line.startswith(" ")]
    if place:
        message += f" ({place[-1]})"
    cause = err.__cause__ or (None if err.__suppress_context__ else err.__context__)
    if cause is not None:
        first = frames(cause, project) + [f"{type(cause).__name__}: {cause}", "which led to"]
        lines = first[-2 * MOST_FRAMES :] + lines
    return message, "\n".join(lines)


def where(project):
    return f"{sys.executable}, Python {'.'.join(str(n) for n in sys.version_info[:3])}, modules of {project} first"


def find(target, project):
    """The object that MODULE:NAME names."""
    module_name, _, attribute = target.partition(":")
    try:
        module = importlib.import_module(module_name)
    except ModuleNotFoundError as err:
        if err.name and (module_name == err.name or module_name.startswith(err.name + ".")):
            files = sorted(
                name[:-3] for name in os.listdir(project) if name.endswith(".py") and name[:-3].isidentifier()
            )
            near = difflib.get_close_matches(module_name, files, 1)
            hint = f"did you mean {near[0]}:{attribute}?" if near else (
                "modules there: " + ", ".join(files) if files else "there is no module there"
            )
            raise Refusal(f"there is no module {module_name} ({where(project)}); {hint}") from None
        message, detail = told(err, project)
        raise Refusal(f"importing {module_name} failed: {message}; {where(project)}", detail) from None
    except BaseException as err:
        message, detail = told(err, project)
        raise Refusal(f"importing {module_name} failed: {message}", detail) from None
    found = module
    for name in attribute.split("."):
        try:
            found = getattr(found, name)
        except AttributeError:
            names = [n for n in dir(found) if not n.startswith("_") and callable(getattr(found, n, None))]
            near = difflib.get_close_matches(name, names, 1)
            own = [n for n in names if getattr(getattr(found, n), "__module__", "") == module_name]
            hint = f"did you mean {near[0]}?" if near else "it has " + (", ".join(own) or "no function and no class")
            raise Refusal(
                f"{module_name} ({shown(getattr(module, '__file__', None) or module_name, project)}) has no {name} ({where(project)}); {hint}"
            ) from None
    return found


class Code:
    """The files that the code was made of, those of Python itself and of installed
    packages left out: what was imported, from wherever, and what import statements
    in the project name wherever they stand."""

    def __init__(self, project):
        self.project = project
        self.files = {}
        self.modules = set(sys.modules)  # those of this program
        self.known = len(sys.modules)
        self.unseen = False  # something was imported that cannot be read
        paths = sysconfig.get_paths()
        self.library = {os.path.realpath(paths[name]) for name in ("stdlib", "platstdlib")} | {os.path.realpath(HERE)}

    def read(self):
        """Looks at what is loaded by now; True when that is more than was known."""
        if len(sys.modules) == self.known:
            return self.unseen
        self.known = len(sys.modules)
        more = False
        for name, module in list(sys.modules.items()):
            if name in self.modules:
                continue
            self.modules.add(name)
            path = getattr(module, "__file__", None)
            if isinstance(path, str) and self.add(path, name):
                more = True
        return more or self.unseen

    def add(self, path, module=None):
        """Adds a file, which is named from the project; one elsewhere by its module,
        so that it has the same name on every machine."""
        path = os.path.abspath(path)
        if not inside(path, self.project) and inside(os.path.realpath(path), self.project):
            path = os.path.realpath(path)  # the project by another name
        if self.foreign(path):
            return False
        own = inside(path, self.project)
        if not own and module is None:
            return False
        name = os.path.relpath(path, self.project).replace(os.sep, "/") if own else f"module {module}"
        if name in self.files:
            return False
        try:
            with open(path, "rb") as f:
                data = f.read()
        except OSError:
            self.unseen = True
            return False
        self.files[name] = hashlib.sha256(data).hexdigest()
        if own and path.endswith(".py"):
            self.follow(path, data)
        return True

    def foreign(self, path):
        """Whether a file is Python's own, ours, or of an installed package."""
        real = os.path.realpath(path)
        if any(inside(real, place) and not inside(self.project, place) for place in self.library):
            return True
        parts = (os.path.relpath(path, self.project) if inside(path, self.project) else path).split(os.sep)
        return "site-packages" in parts or "dist-packages" in parts or ".venv" in parts

    def follow(self, path, data):
        """Adds what a file imports, be it inside of a function."""
        try:
            tree = ast.parse(data)
        except (SyntaxError, ValueError, RecursionError):
            return
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    self.named(self.project, alias.name.split("."))
            elif isinstance(node, ast.ImportFrom):
                root = self.project
                if node.level:
                    root = os.path.dirname(path)
                    for _ in range(node.level - 1):
                        root = os.path.dirname(root)
                parts = node.module.split(".") if node.module else []
                self.named(root, parts)
                for alias in node.names:
                    self.named(root, [*parts, alias.name])

    def named(self, root, parts):
        for end in range(1, len(parts) + 1):
            place = os.path.join(root, *parts[:end])
            for path in (place + ".py", os.path.join(place, "__init__.py")):
                if os.path.isfile(path):
                    self.add(path)


# --- what is called


def function_of(found, target, versioned):
    """The function of a callable system, and what it declares."""
    if inspect.isclass(found):
        hint = f"rag: {{object: {target}}}" if hasattr(found, "retrieve") else "a function, or an instance that can be called"
        raise Refusal(f"{target} is a class, and system.callable is a function: write {hint}")
    if not callable(found):
        raise Refusal(f"{target} is of type {type(found).__name__}, and system.callable is a function")
    declared = dict(getattr(found, "__oloproof_system__", None) or {})
    plain = inspect.isfunction(inspect.unwrap(found)) and getattr(found, "__self__", None) is None
    if not plain and not declared.get("version") and not versioned:
        raise Refusal(
            f"{target} is no plain function but of type {type(found).__name__}, which may hold more than its code says: "
            "give it a version, as system.version or in @system(version=...)"
        )
    try:
        inspect.signature(found).bind(None)
    except TypeError as err:
        raise Refusal(f"{target} is called with one argument, the input of a case: {err}") from None
    except ValueError:
        pass  # a signature that cannot be read
    return found, declared


def object_of(found, target, project):
    """The object of a staged system, and what it declares."""
    declared = dict(getattr(found, "__oloproof_rag__", None) or {})
    if inspect.isfunction(found):
        raise Refusal(f"{target} is a function, and system.rag.object is a class: write callable: {target}")
    for name in ("retrieve", "generate"):
        if not callable(getattr(found, name, None)):
            raise Refusal(f"{target} has no method {name}(), and a staged system has retrieve(input, depth) and generate(input, context)")
    if inspect.isclass(found):
        try:
            found = found()
        except BaseException as err:
            message, detail = told(err, project)
            raise Refusal(f"making an instance of {target} failed: {message}", detail) from None
    return found, declared


def passages(values):
    return [_record.Passage(**value) for value in values]


class Callable:
    """Answers run by a function."""

    def __init__(self, function):
        self.methods = {"run": (function, lambda p: (p["input"],), self.output)}

    def output(self, value, params):
        return _record.dumps(value, "the output")


class Staged:
    """Answers retrieve, generate and count_tokens by an object."""

    def __init__(self, target):
        self.methods = {
            "retrieve": (target.retrieve, lambda p: (p["input"], p["depth"]), self.retrieval),
            "generate": (target.generate, lambda p: (p["input"], passages(p["passages"])), self.output),
        }
        if callable(getattr(target, "count_tokens", None)):
            self.methods["count_tokens"] = (
                target.count_tokens,
                lambda p: (_record.Passage(**p["passage"]),),
                self.count,
            )

    def retrieval(self, value, params):
        if isinstance(value, dict):
            value = _record.Retrieval(**value)
        if not isinstance(value, _record.Retrieval):
            raise Fatal(f"retrieve() returns a Retrieval, not {_record._shown(value)}")
        return _record.dumps(value, "the retrieval")

    def output(self, value, params):
        return _record.dumps(value, "the output")

    def count(self, value, params):
        if isinstance(value, bool) or not hasattr(value, "__index__") or value.__index__() < 0:
            raise Fatal(f"count_tokens() returns a whole number of at least 0, not {_record._shown(value)}")
        return str(value.__index__())


class Reranker:
    """Answers rerank by a function."""

    def __init__(self, function):
        self.methods = {"rerank": (function, lambda p: (p["input"], passages(p["candidates"])), self.order)}

    def order(self, value, params):
        if isinstance(value, (str, bytes, dict)) or not hasattr(value, "__iter__"):
            raise Fatal(f"a reranker returns a list of Passage, not {_record._shown(value)}")
        value = list(value)
        for element in value:
            if not isinstance(element, _record.Passage):
                raise Fatal(f"a reranker returns a list of Passage, and one element is {_record._shown(element)}")
        return _record.dumps(value, "the order")


# --- answering


class Host:
    def __init__(self, streams, project, code, offer, concurrency):
        self.streams = streams
        self.project = project
        self.code = code
        self.offer = offer
        self.concurrency = concurrency
        self.reading = threading.Lock()
        self.loop = None
        self.stages = not isinstance(offer, Callable)
        self.asynchronous = {name for name, (function, _, _) in offer.methods.items() if is_async(function)}

    def serve(self):
        """Answers until there are no more requests. Each thread reads a request and
        answers it, so that nothing is handed from one to another."""
        threads = [threading.Thread(target=self.work, daemon=True) for _ in range(self.concurrency - 1)]
        for thread in threads:
            thread.start()
        self.work()

    def work(self):
        while True:
            with self.reading:
                line = self.streams.input.readline()
            if not line:
                # The other threads may be inside of user code: nothing waits for them any more.
                put_flush()
                os._exit(0)
            request = json.loads(line)
            if request["method"] in self.asynchronous:
                asyncio.run_coroutine_threadsafe(self.answer_async(request), self.running())
            else:
                contextvars.copy_context().run(self.answer, request)

    def running(self):
        """The loop that everything asynchronous runs on."""
        if self.loop is None:
            with self.streams.lock:
                if self.loop is None:
                    loop = asyncio.new_event_loop()
                    threading.Thread(target=loop.run_forever, daemon=True).start()
                    self.loop = loop
        return self.loop

    def begin(self):
        recorder, log = _record.CaseRecorder(self.stages), Log()
        _record._current.set(recorder)
        _log.set(log)
        return recorder, log

    def answer(self, request):
        recorder, log = self.begin()
        try:
            function, arguments, result = self.method(request)
            value = function(*arguments(request["params"]))
            if inspect.isawaitable(value):
                value = asyncio.run_coroutine_threadsafe(awaited(value), self.running()).result()
            text = result(value, request["params"])
        except BaseException as err:
            self.fail(request, recorder, log, err)
            return
        self.reply(request, recorder, log, text)

    async def answer_async(self, request):
        recorder, log = self.begin()
        try:
            function, arguments, result = self.method(request)
            value = await function(*arguments(request["params"]))
            text = result(value, request["params"])
        except BaseException as err:
            self.fail(request, recorder, log, err)
            return
        self.reply(request, recorder, log, text)

    def method(self, request):
        try:
            return self.offer.methods[request["method"]]
        except KeyError:
            raise Fatal(f"the method {request['method']} is not offered") from None

    def reply(self, request, recorder, log, text):
        if recorder._refused is not None:
            self.fail(request, recorder, log, recorder._refused)
            return
        parts = [f'{{"id":{request["id"]},"result":{text}']
        if recorder._artifacts:
            # By hand: a kind that was recorded twice stands there twice, and is told.
            each = ",".join(f"{json.dumps(kind)}:{data}" for kind, data in recorder._artifacts)
            parts.append(f',"artifacts":{{{each}}}')
        if recorder._usage:
            try:
                parts.append(f',"usage":{_record.dumps(recorder._used(), "the usage")}')
            except BaseException as err:
                self.fail(request, recorder, log, Fatal(str(err)))
                return
        self.end(parts, log)

    def fail(self, request, recorder, log, err):
        message, detail = told(err, self.project)
        error = {"message": message, "detail": detail}
        if recorder._refused is not None:
            err = recorder._refused
        if isinstance(err, _record.ArtifactError):
            place = [line for line in frames(err, self.project) if not line.startswith(" ")]
            error = {"message": err.problem + (f" ({place[-1]})" if place else ""), "artifact": err.kind, "detail": detail}
        elif isinstance(err, Fatal):
            error = {"message": str(err), "fatal": True}
        elif isinstance(err, oloproof.TransientError):
            error["retry"] = True
        elif isinstance(err, _record.NotJSON):
            error = {"message": str(err), "detail": ""}
        elif isinstance(err, (SystemExit, KeyboardInterrupt)):
            error["message"] = f"the code called for the end of the program, {message}"
        self.end([f'{{"id":{request["id"]},"error":{json.dumps(error)}'], log)

    def end(self, parts, log):
        if self.code.read():
            parts.append(',"late":true')
        if log.parts:
            parts.append(f',"log":{json.dumps(log.text())}')
        parts.append("}")
        self.streams.send("".join(parts))


async def awaited(value):
    return await value


def is_async(function):
    """Whether calling a function gives something to await."""
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(type(function), "__call__", None)
    )


def put_flush():
    try:
        sys.__stdout__.flush()
    except (OSError, ValueError, AttributeError):
        pass


def main(argv):
    kind, target, project, concurrency, versioned = argv
    streams = Streams()
    project = os.path.realpath(project)
    sys.path.insert(0, project)
    code = Code(project)
    hello = {"protocol": PROTOCOL, "methods": [], "own_log": True, "concurrency": int(concurrency)}
    offer = None
    try:
        found = find(target, project)
        if kind == "callable":
            function, declared = function_of(found, target, versioned == "versioned")
            offer = Callable(function)
        elif kind == "rag":
            instance, declared = object_of(found, target, project)
            offer = Staged(instance)
        else:
            if inspect.isclass(found) or not callable(found):
                raise Refusal(f"{target} is no function, and a reranker is one: (input, candidates) -> candidates")
            offer, declared = Reranker(found), {}
        code.read()
        hello.update(
            methods=sorted(offer.methods),
            name=text_of(declared.pop("name", None), "name"),
            version=text_of(declared.pop("version", None), "version"),
            code=code.files,
        )
        records = declared.pop("records", None)
        if records:
            hello["records"] = records
        hello["settings"] = declared
        line = _record.dumps({"hello": hello}, f"what {target} declares of itself")
    except (Refusal, _record.NotJSON) as err:
        hello = {
            "protocol": PROTOCOL,
            "methods": [],
            "error": {"message": str(err), "detail": getattr(err, "detail", "")},
        }
        streams.send(json.dumps({"hello": hello}))
        return
    streams.send(line)
    Host(streams, project, code, offer, int(concurrency)).serve()


def text_of(value, what):
    if value is not None and not isinstance(value, str):
        raise Refusal(f"the {what} that the code declares is a text, not {_record._shown(value)}")
    return value
