#!/usr/bin/env python3
"""Tests `kernelc lsp` with a session that uses every request, and with random edits: after each, the reported
errors must be those of a fresh server, and at the end of each file those of `kernelc check`.

`lsp.py --edits 10000` makes more edits. `lsp.py --latency` prints how long answers take for 2000 lines, and the processor time of
the server, which other processes influence less."""

import argparse
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

from shared import checks, lsp_client, seeds
from shared.lsp_client import Client, edited, place

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
LIBRARY = """/// A limit.
export const LIMIT: f32 = 6.0;

/// x, at most LIMIT.
export fn limited(x: f32) -> f32 { return min(x, LIMIT); }
"""
TEXT = """import lib.limits;
import std.nn;

/// The grüße of 𝛼: y = a * x.
export kernel scale<T: f32 | f64, B: int = auto>(a: T, x: in T[N], y: out T[N]) {
    spmd for i in N by B {
        let z = a * x[i];
        y[i] = z; /* 𝛼 */ let _unused = z;
    }
}
ensures { y[i] ~ a * x[i]; }

export kernel rows(x: in f32[R, C], y: out f32[R]) {
    spmd for r in R by 8 {
        range c in C max 512;
        var s: f32[r] = 0;
        s += sum(x[r, c] over c);
        y[r] = limits.limited(nn.relu(s)) * sqrt(2.0);
    }
}
ensures { y[r] ~ min(max(sum(x[r, c] over c), 0.0), 6.0) * sqrt(2.0); }

program all(x: in f32[R, C], y: out f32[R]) {
    let t: f32[R];
    spmd rows(x, t);
    spmd scale<B = 64>(2.0, t, y);
}

test "rows" {
    let x = random(f32[3, 4], seed = 1);
    let y: f32[3];
    spmd rows(x, y);
    expect y[i] ~ min(max(sum(x[i, k] over k), 0.0), 6.0) * sqrt(2.0);
}
"""
REQUESTS = ["hover", "definition", "references", "documentHighlight", "completion", "signatureHelp"]


class Session:
    """An open file, and short ways to ask about places in it, which are given by words."""

    def __init__(self, client, path, text):
        self.client, self.uri, self.text, self.version = client, path.as_uri(), text, 1
        client.open(self.uri, text)

    def ask(self, method, words=None, offset=0, count=1, **more):
        at = {} if words is None else {"position": place(self.text, words, offset, count)}
        return self.client.request(f"textDocument/{method}", textDocument={"uri": self.uri}, **at, **more)

    def write(self, text):
        self.text, self.version = text, self.version + 1
        self.client.change(self.uri, self.version, {"text": text})
        return self.client.quick(self.uri, self.version)

    def whole(self):
        return {"start": {"line": 0, "character": 0}, "end": {"line": self.text.count("\n") + 1, "character": 0}}

    def hover(self, *where):
        found = self.ask("hover", *where)
        return found["contents"]["value"] if found else ""

    def words(self, ranges):
        """Returns the texts at ranges, with the numbers of their lines."""
        lines = self.text.split("\n")
        return [(r["start"]["line"] + 1, edited_slice(lines[r["start"]["line"]], r)) for r in ranges]


def edited_slice(line, where):
    units = line.encode("utf-16-le")
    return units[2 * where["start"]["character"]:2 * where["end"]["character"]].decode("utf-16-le")


def has(name, text, *parts):
    checks.expect(name, all(part in text for part in parts), text)


def test_names(session):
    has("hover over a value", session.hover("z = a"), "let z = a * x[i];", "`f32[i] or f64[i]`", "a block of at most B elements of N")
    has("hover over a use", session.hover("z; /*"), "let z = a * x[i];")
    has("hover over a kernel", session.hover("scale<T"), "export kernel scale<T: f32 | f64", "The grüße of 𝛼: y = a * x.")
    has("hover over a loop", session.hover("i in N"), "i in N by B", "`i` binds a block of at most B elements of N")
    has("hover over a range", session.hover("c in C max"), "all of C, at most 512 elements")
    has("hover over a size", session.hover("N by B"), "x: in T[N]", "size")
    has("hover over an imported function", session.hover("limited(nn"), "fn limited(x: f32) -> f32", "x, at most LIMIT.")
    has("hover over a function of the library", session.hover("relu(s)"), "fn relu<T: Float>")
    has("hover over a builtin", session.hover("sqrt(2"), "the square root")
    has("hover over a reduction", session.hover("sum(x[r"), "a reduction")
    checks.expect("no hover over white space", session.ask("hover", "    spmd for i", 1) is None)

    found = session.ask("definition", "z; /*")
    checks.expect("definition", session.words([found["range"]]) == [(7, "z")], found)
    checks.expect("definition after characters of two units", session.words([session.ask("definition", "_unused = z;", 10)["range"]]) == [(7, "z")])
    found = session.ask("definition", "limited(nn")
    checks.expect("definition in an imported file", found["uri"].endswith("lib/limits.kdl") and found["range"]["start"]["line"] == 4, found)
    found = session.ask("definition", "relu(s)")
    text = pathlib.Path(found["uri"].removeprefix("file://")).read_text().split("\n")
    has("definition in the library", text[found["range"]["start"]["line"]], "export fn relu<T: Float>")

    found = session.ask("references", "rows(x: in", context={"includeDeclaration": True})
    checks.expect("references", [line for line, _ in session.words([f["range"] for f in found])] == [13, 25, 32], found)
    found = session.ask("references", "rows(x: in", context={"includeDeclaration": False})
    checks.expect("references without the declaration", len(found) == 2, found)
    found = session.ask("documentHighlight", "s: f32[r]")
    checks.expect("highlights", [word for _, word in session.words([f["range"] for f in found])] == ["s", "s", "s"], found)
    found = session.ask("definition", "B = 64")
    checks.expect("an argument refers to its parameter", session.words([found["range"]]) == [(5, "B")], found)


def test_rename(session):
    found = session.ask("prepareRename", "s: f32[r]")
    checks.expect("a name that can be changed", found["placeholder"] == "s", found)
    edits = session.ask("rename", "B: int", newName="BLOCK")["changes"][session.uri]
    text = edited(session.text, edits)
    checks.expect("rename", text.count("BLOCK") == 3 and "scale<BLOCK = 64>" in text and "by BLOCK" in text, text)
    for words, name, why in [("s: f32[r]", "c", "cannot be used here"), ("s: f32[r]", "for", "cannot be used here"), ("s: f32[r]", "1x", "is not a name"),
                             ("nn;", "mm", "rename the file"), ("sqrt", "root", "no name here"), ("relu(s)", "r", "not open")]:
        try:
            session.ask("rename", words, newName=name)
            checks.expect(f"rename {words} to {name}", False)
        except ValueError as error:
            has(f"rename {words} to {name}", str(error), why)


def test_writing(session):
    labels = {item["label"]: item for item in session.ask("completion", "s += sum", 0)}
    checks.expect("completion", {"s", "c", "x", "R", "rows", "scale", "sqrt", "for", "limits", "f32"} <= labels.keys(), sorted(labels))
    checks.expect("names of other kernels are not visible", "z" not in labels and "T" not in labels, sorted(labels))
    has("the type of a completion", labels["s"].get("detail", ""), "f32[r]")
    checks.expect("members of an import", {i["label"] for i in session.ask("completion", "limited(nn")} == {"LIMIT", "limited"})
    before = session.text
    broken = before.replace("y[r] = limits.limited(nn.relu(s)) * sqrt(2.0);", "y[r] = limits.limited(nn.relu(s), r.")
    checks.expect("an unfinished line has an error", session.write(broken) != [])
    found = session.ask("signatureHelp", "limits.limited(nn.relu(s), r", 27)
    checks.expect("signature help", found["activeParameter"] == 1 and "fn limited(x: f32)" in found["signatures"][0]["label"], found)
    found = session.ask("signatureHelp", "nn.relu(s), r", 9)
    has("signature help of an inner call", found["signatures"][0]["label"], "fn relu<T: Float>(x: T) -> T")
    labels = {item["label"] for item in session.ask("completion", "s), r.", 6)}
    checks.expect("members of a range", labels == {"start", "size", "index"}, labels)
    session.write(before)
    checks.expect("words of attributes", "depth" in {i["label"] for i in after(session, before.replace("by 8 {", "by 8 @ {"), "@ {", 1)})
    checks.expect("files of the library", "std.nn" in {i["label"] for i in after(session, "import \n" + before, "import ", 7)})
    session.write(before)


def after(session, text, words, offset):
    session.write(text)
    return session.ask("completion", words, offset)


def test_file(session):
    symbols = session.ask("documentSymbol")
    checks.expect("symbols", [s["name"] for s in symbols] == ["limits", "nn", "scale", "rows", "all", '"rows"'], symbols)
    tokens = session.ask("semanticTokens/full")["data"]
    checks.expect("semantic tokens", len(tokens) % 5 == 0 and len(tokens) > 300)
    session.client.full(session.uri, session.version)
    while "workspace/inlayHint/refresh" not in session.client.asked:
        session.client.receive()
    hints = [(session.text.split("\n")[h["position"]["line"]], h["label"]) for h in session.ask("inlayHint", range=session.whole())]
    labels = [label for _, label in hints]
    checks.expect("hints of types", ": f32[i] or f64[i]" in labels, hints)
    checks.expect("hints of ranges", " in C" in labels and " in N" in labels, hints)
    checks.expect("hints of tiles", any(re.fullmatch(r": \d+( or \d+)* on this machine", label) for label in labels), hints)
    before = session.text
    session.write(edited(before, session.ask("formatting", options={})))
    checks.expect("a formatted file needs no edits", session.text != before and session.ask("formatting", options={}) == [])
    session.write(before.replace("let z = a * x[i];", "let  z=a * x[i] ;"))
    text = edited(session.text, session.ask("formatting", options={}))
    checks.expect("formatting", "        let z = a * x[i];\n" in text, text)
    errors = session.write(before.replace("y[i] = z;", "y[i] = zz;"))
    has("the help of an error", json.dumps(errors), "did you mean 'z'?")
    actions = session.ask("codeAction", range=session.whole(), context={"diagnostics": errors})
    fixed = edited(session.text, actions[0]["edit"]["changes"][session.uri])
    checks.expect("an action", len(actions) == 1 and "y[i] = z;" in fixed, actions)
    session.write(before)


def test_proofs(session):
    before = session.text
    wrong = before.replace("y[i] = z;", "y[i + 1] = z;")
    checks.expect("no error before the proofs", session.write(wrong) == [])
    found = session.client.full(session.uri, session.version)
    checks.expect("an error of the proofs", [d["code"] for d in found] == ["E0411"] and found[0]["range"]["start"]["line"] == 7, found)
    checks.expect("the error goes at once", session.write(before) == [])
    checks.expect("the file is right", session.client.full(session.uri, session.version) == [])


def test_protocol(client, folder):
    for method, params, words in [("textDocument/nothing", {}, "there is no request"), ("textDocument/hover", {}, "key"),
                                  ("textDocument/hover", {"textDocument": {"uri": "file:///x"}, "position": {}}, "not open")]:
        try:
            client.request(method, **params)
            checks.expect(method, False)
        except ValueError as error:
            has(f"{method} with {params}", str(error), words)
    deep = b'{"id": 1, "method": "x", "params": ' + b'{"a": ' * 200_000 + b"1" + b"}" * 200_001
    for wrong in (b"{,}", deep):
        client.server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(wrong) + wrong)
    client.notify("textDocument/didChange", textDocument={"uri": "file:///x", "version": 1}, contentChanges=[{"text": ""}])
    other = Session(client, folder / "with space.kdl", "const A = ;\n")
    checks.expect("a path with a space", [d["code"] for d in client.quick(other.uri, 1)] == ["E0113"])
    client.notify("textDocument/didClose", textDocument={"uri": other.uri})
    while client.diagnostics[other.uri] != (None, []):
        client.receive()
    empty = Session(client, folder / "empty.kdl", "")
    checks.expect("an empty file", empty.ask("hover", "") is None and empty.ask("documentSymbol") == [])


def test_session():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "lib").mkdir()
        (folder / "lib/limits.kdl").write_text(LIBRARY)
        client = Client()
        client.start()
        session = Session(client, folder / "a.kdl", TEXT)
        checks.expect("no errors", client.full(session.uri, 1) == [], client.diagnostics)
        for test in (test_names, test_rename, test_writing, test_file, test_proofs):
            test(session)
        test_protocol(client, folder)
        checks.expect("the exit code after `shutdown`", client.stop() == 0)
        client = Client()
        client.start()
        client.server.stdin.close()
        checks.expect("the exit code without `shutdown`", client.server.wait(60) == 1)


PIECES = [" ", "\n", ";", "{", "}", "(", ")", "[", "]", "x", "1", "0.5", "+ ", " as f32", "for ", "let q = ", "sum(", " over k", "//", "/*", "*/",
          '"', "é", "𝛼", ".", "@", "<", ">", "in ", "\t", "\r\n"]


def random_edit(source, text):
    """Returns an edit as (begin, end, new text)."""
    begin = source.randrange(len(text) + 1)
    end = begin if source.random() < 0.5 else min(len(text), begin + source.choice([1, 1, 2, 5, 30]))
    new = source.choice(PIECES) if source.random() < 0.8 else ""
    if source.random() < 0.1:
        other = source.randrange(len(text) + 1)
        new = text[other:other + source.choice([3, 10, 80])]
    return begin, end, new


def position(text, offset):
    before = text[:offset]
    return {"line": before.count("\n"), "character": len(before[before.rfind("\n") + 1:].encode("utf-16-le")) // 2}


def codes(found):
    return sorted((d["code"], d["range"]["start"]["line"], d["range"]["start"]["character"], d["message"]) for d in found)


def checked(text, path):
    ran = subprocess.run(["kernelc", "check", "-", "--json"], input=text.encode(), capture_output=True, timeout=120, cwd=path.parent)
    return sorted((d["id"], d["line"] - 1) for d in json.loads(ran.stdout)["diagnostics"])


def test_edits(count):
    source = random.Random(seeds.of_today())
    print(f"{count} edits with KDL_SEED={seeds.of_today()}")
    files = sorted((ROOT / "samples").glob("*/*.kdl")) + sorted((ROOT / "stdlib").glob("*.kdl"))
    made = 0
    edited_one, fresh = Client(), Client()
    edited_one.start()
    fresh.start()
    wrong = []
    while made < count:
        path = source.choice(files)
        text = original = path.read_text()
        uri = f"file://{path.parent}/edited{made}.kdl"
        edited_one.open(uri, text, 1)
        for version in range(2, 22):
            if source.random() < 0.15:
                text, change = original, {"text": original}
            else:
                begin, end, new = random_edit(source, text)
                change = {"range": {"start": position(text, begin), "end": position(text, end)}, "text": new}
                text = text[:begin] + new + text[end:]
            edited_one.change(uri, version, change)
            name = source.choice(REQUESTS)
            edited_one.request(f"textDocument/{name}", textDocument={"uri": uri}, position=position(text, source.randrange(len(text) + 1)))
            found = codes(edited_one.quick(uri, version))
            fresh.open(uri, text, version)
            if found != codes(fresh.quick(uri, version)):
                wrong.append((str(path), change))
            fresh.notify("textDocument/didClose", textDocument={"uri": uri})
            while fresh.diagnostics[uri][0] is not None:
                fresh.receive()
            fresh.reports.clear()
            made += 1
        last = edited_one.full(uri, 21)
        own = sorted((d["code"], d["range"]["start"]["line"]) for d in last)
        if own != checked(text, path) and "\r" not in text:
            wrong.append((str(path), "check"))
        edited_one.notify("textDocument/didClose", textDocument={"uri": uri})
    checks.expect("errors are never stale", not wrong, wrong[:3])
    checks.expect("both servers end well", edited_one.stop() == 0 and fresh.stop() == 0)


def processor_seconds(server):
    """Returns the processor time that the threads of a process have used. Threads that have ended do not count."""
    return sum(int(path.read_text().split()[0]) for path in pathlib.Path(f"/proc/{server.pid}/task").glob("*/schedstat")) / 1e9


def measured(client, answer):
    """Returns the seconds until the answer, and the processor time of the server."""
    begin, used = time.monotonic(), processor_seconds(client.server)
    answer()
    return time.monotonic() - begin, processor_seconds(client.server) - used


def test_latency():
    """Prints how long answers take."""
    base = "".join((ROOT / f"samples/{name}/{name}.kdl").read_text() for name in ("softmax", "matmul", "matmul_residual"))
    names = set(re.findall(r"(?:kernel|program) (\w+)", base))
    text = ""
    while text.count("\n") < 2000:
        number = text.count("\n")
        text += re.sub(rf"\b({'|'.join(names)})\b(?=[<(])", rf"\g<1>{number}", base)
    with tempfile.TemporaryDirectory() as folder:
        client = Client()
        client.start()
        session = Session(client, pathlib.Path(folder) / "long.kdl", text)
        client.full(session.uri, 1)
        def change(version):
            client.change(session.uri, version, {"range": {"start": {"line": 3, "character": 0}, "end": {"line": 3, "character": 0}}, "text": " "})
            client.quick(session.uri, version)

        times = {"errors after a change": [measured(client, lambda: change(version)) for version in range(2, 12)]}
        for method in [*REQUESTS, "documentSymbol", "semanticTokens/full", "inlayHint", "formatting"]:
            after = "acc +=" if method in REQUESTS else None
            times[method] = [measured(client, lambda: session.ask(method, after, range=session.whole(), options={})) for _ in range(5)]
        print(f"| {text.count(chr(10))} lines | median ms | processor ms |\n|---|---|---|")
        for name, each in times.items():
            seconds, used = (sorted(column)[len(each) // 2] for column in zip(*each, strict=True))
            print(f"| {name} | {seconds * 1000:.0f} | {used * 1000:.0f} |")
        client.stop()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--edits", type=int, default=200)
    parser.add_argument("--latency", action="store_true")
    options = parser.parse_args()
    if options.latency:
        test_latency()
        return 0
    test_session()
    test_edits(options.edits)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
