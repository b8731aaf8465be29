"""Starts the part of oloproof that calls Python code.

This file is kept to what every Python can read, so that one which is too old
can say so.
"""

import json
import sys


def main():
    if sys.version_info < (3, 9):
        found = ".".join(str(n) for n in sys.version_info[:3])
        message = "Python 3.9 or later is needed, and %s is Python %s: name another one in OLOPROOF_PYTHON"
        error = {"message": message % (sys.executable, found)}
        hello = {"protocol": 1, "methods": [], "error": error}
        sys.stdout.write(json.dumps({"hello": hello}) + "\n")
        sys.stdout.flush()
        return
    from oloproof import _host

    _host.main(sys.argv[1:])


if __name__ == "__main__":  # not in the processes that code under test starts
    main()
