"""A client of the Language Server Protocol for tests of `kernelc lsp`."""

import json
import select
import subprocess

WAIT_S = 300


class Client:
    """A running server. `diagnostics` has, by URI, the last reported ones and the version to which they belong;
    `reports` counts the reports of each version."""

    def __init__(self, command=("kernelc", "lsp")):
        self.server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pending = b""
        self.answers = {}
        self.diagnostics = {}
        self.reports = {}
        self.asked = []  # methods of requests by the server
        self.number = 0

    def send(self, **message):
        text = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n" % len(text) + text)
        self.server.stdin.flush()

    def notify(self, method, **params):
        self.send(method=method, params=params)

    def receive(self):
        """Reads one message of the server and sorts it."""
        while True:
            head, found, rest = self.pending.partition(b"\r\n\r\n")
            length = int(head.split(b":")[1]) if found else 0
            if found and len(rest) >= length:
                break
            if not select.select([self.server.stdout], [], [], WAIT_S)[0]:
                raise TimeoutError("the server does not answer")
            more = self.server.stdout.read1(1 << 16)
            if not more:
                raise EOFError(f"the server has ended with {self.server.wait()}")
            self.pending += more
        self.pending = rest[length:]
        message = json.loads(rest[:length])
        if message.get("method") == "textDocument/publishDiagnostics":
            params = message["params"]
            key = params["uri"], params.get("version")
            self.diagnostics[params["uri"]] = params.get("version"), params["diagnostics"]
            self.reports[key] = self.reports.get(key, 0) + 1
        elif "method" in message:
            self.asked.append(message["method"])
        else:
            self.answers[message["id"]] = message

    def request(self, method, **params):
        """Returns the result of a request, or the text of its error as an exception."""
        self.number += 1
        self.send(id=self.number, method=method, params=params)
        while self.number not in self.answers:
            self.receive()
        answer = self.answers.pop(self.number)
        if "error" in answer:
            raise ValueError(answer["error"]["message"])
        return answer["result"]

    def start(self):
        result = self.request("initialize", processId=None, rootUri=None,
                              capabilities={"workspace": {"inlayHint": {"refreshSupport": True}}})
        self.notify("initialized")
        return result

    def open(self, uri, text, version=1):
        self.notify("textDocument/didOpen", textDocument={"uri": uri, "languageId": "kernelc", "version": version, "text": text})

    def change(self, uri, version, *changes):
        self.notify("textDocument/didChange", textDocument={"uri": uri, "version": version}, contentChanges=list(changes))

    def quick(self, uri, version):
        """Waits for the errors of a version that are reported without the proofs."""
        while not self.reports.get((uri, version)):
            self.receive()
        return self.diagnostics[uri][1]

    def full(self, uri, version):
        """Waits for all errors of a version."""
        found = self.quick(uri, version)
        while not any(d["severity"] == 1 for d in found) and self.reports[uri, version] < 2:
            self.receive()
            found = self.diagnostics[uri][1]
        return found

    def stop(self):
        self.request("shutdown")
        self.notify("exit")
        return self.server.wait(WAIT_S)


def place(text, words, offset=0, count=1):
    """Returns the position in the protocol's units of `words` in a text, of its `count`th occurrence."""
    at = -1
    for _ in range(count):
        at = text.index(words, at + 1)
    before = text[:at + offset]
    line = before.count("\n")
    return {"line": line, "character": len(before[before.rfind("\n") + 1:].encode("utf-16-le")) // 2}


def edited(text, edits):
    """Returns the text after edits of the protocol."""
    lines = text.split("\n")

    def offset(position):
        line = position["line"]
        if line >= len(lines):
            return len(text)
        column = len(lines[line].encode("utf-16-le")[:2 * position["character"]].decode("utf-16-le"))
        return sum(len(each) + 1 for each in lines[:line]) + column

    for edit in sorted(edits, key=lambda e: offset(e["range"]["start"]), reverse=True):
        text = text[:offset(edit["range"]["start"])] + edit["newText"] + text[offset(edit["range"]["end"]):]
    return text
