#!/usr/bin/env python3
"""Tests what the errors of `kernelc lsp` depend on besides the file: unsaved changes of imported files, and -D."""

import pathlib
import sys
import tempfile

from lsp import LIBRARY, Session, has
from shared import checks
from shared.lsp_client import Client

OUTER = """import lib.limits;
export kernel cut<B: int>(x: in f32[N], y: out f32[N]) {
    spmd for i in N by B { y[i] = limits.limited(x[i]); }
}
"""


def test_unsaved_imports(folder):
    """An open file is checked with the unsaved contents of the files that it imports, and again when these change."""
    client = Client()
    client.start()
    (folder / "lib").mkdir()
    (folder / "lib/limits.kdl").write_text(LIBRARY)
    outer = Session(client, folder / "outer.kdl", OUTER)
    checks.expect("no errors with the saved file", client.quick(outer.uri, 1) == [], client.diagnostics)
    inner = Session(client, folder / "lib/limits.kdl", LIBRARY)
    reports = client.reports[outer.uri, 1]
    inner.write(LIBRARY.replace("fn limited", "fn bounded"))
    while client.reports[outer.uri, 1] == reports or client.diagnostics[outer.uri][1] == []:
        client.receive()
    has("the importing file has an error", str(client.diagnostics[outer.uri][1]), "limited")
    outer.write(OUTER.replace("limits.limited", "limits.bounded"))
    checks.expect("the unsaved name can be used", client.diagnostics[outer.uri][1] == [], client.diagnostics[outer.uri][1])
    client.notify("textDocument/didClose", textDocument={"uri": inner.uri})
    while client.diagnostics[outer.uri][1] == []:
        client.receive()
    has("after closing, the saved file counts", str(client.diagnostics[outer.uri][1]), "bounded")
    client.stop()


def test_defines(folder):
    """-D gives a parameter a value in the files that have it, and has no effect on others."""
    text = OUTER.replace("import lib.limits;\n", "").replace("limits.limited(x[i])", "x[i]")
    other = text.replace("<B: int>", "").replace("by B", "by 8")
    for words, is_open in (((), True), (("-D", "B=64"), False)):
        client = Client(("kernelc", "lsp", *words))
        client.start()
        session = Session(client, folder / "defined.kdl", text)
        found = client.full(session.uri, 1)
        checks.expect(f"{words}: the parameter has {'no' if is_open else 'a'} value", any("'B'" in one["message"] for one in found) == is_open, found)
        session = Session(client, folder / "other.kdl", other)
        checks.expect(f"{words}: a file without the parameter has no errors", client.full(session.uri, 1) == [])
        client.stop()


def main():
    with tempfile.TemporaryDirectory() as name:
        test_unsaved_imports(pathlib.Path(name))
        test_defines(pathlib.Path(name))
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
