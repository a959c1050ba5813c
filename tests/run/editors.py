#!/usr/bin/env python3
"""Checks the files for editors in grammar/editors: they contain the words of the lexer and the element types, and
refer only to things that exist. Packages the extension for VS Code, and runs it from the package with kernelc's server."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from xml.etree import ElementTree

from shared import checks

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
EDITORS = ROOT / "grammar/editors"
# Types that have no values of their own.
OTHER_TYPES = {"tf32", "int"}


def lexer_words():
    """Returns the hard and the soft words of the lexer."""
    text = (ROOT / "grammar/KdlLexer.g4").read_text()
    hard, soft = text[:text.index("\nIDENT :")].split("// Soft words")
    return [set(re.findall(r": '(\w+)' ;", part)) for part in (hard, soft)]


def scalars():
    rows = (ROOT / "include/kdl/scalars.def").read_text()
    return set(re.findall(r"^KDL_(?:SCALAR|FLOAT|NARROW_FLOAT)\((?!Name)\w+, \w+, (\w+),", rows, re.MULTILINE)) | OTHER_TYPES


def same(name, found, wanted):
    found = list(found)
    checks.expect(f"{name}: each word once", len(found) == len(set(found)), sorted(found))
    checks.expect(name, set(found) == wanted, f"missing: {sorted(wanted - set(found))}, too many: {sorted(set(found) - wanted)}")


def test_textmate(hard, soft):
    grammar = json.loads((EDITORS / "vscode/syntaxes/kernelc.tmLanguage.json").read_text())
    rules = grammar["repository"]
    listed = {name: [word for pattern in rules[name]["patterns"] for group in re.findall(r"\\b\(([\w|]+)\)\\b", pattern["match"])
                     for word in group.split("|")] for name in ("keywords", "softKeywords", "types")}
    same("TextMate: hard words", listed["keywords"], hard)
    same("TextMate: soft words", listed["softKeywords"], soft)
    same("TextMate: types", listed["types"], scalars())
    checks.expect("TextMate: all parts exist", {p["include"][1:] for p in grammar["patterns"]} == set(rules))
    colours = [re.compile(pattern["match"]) for pattern in rules["softKeywords"]["patterns"]]
    # In the library, these words are no names where a space follows.
    for file in sorted((ROOT / "stdlib").glob("*.kdl")):
        for number, line in enumerate(file.read_text().split("\n"), 1):
            line = re.sub(r"//.*|\"[^\"]*\"", "", line)
            for word in re.finditer(r"\b(over|by|where|requires|ensures)\b(?= )", line):
                seen = any(match.start(1) == word.start() for colour in colours for match in colour.finditer(line))
                if not seen and not line.strip().startswith(word[0]):
                    checks.expect(f"{file.name}:{number}: `{word[0]}` has a colour", False, line)


def test_tree_sitter(hard, soft):
    text = (EDITORS / "tree-sitter/grammar.js").read_text()
    lists = {name: re.findall(r"'(\w+)'", body) for name, body in re.findall(r"const (\w+) = \[(.*?)\];", text, re.DOTALL)}
    same("tree-sitter: hard words", lists["HARD"], hard)
    same("tree-sitter: soft words", lists["SOFT"], soft)
    same("tree-sitter: types", lists["SCALARS"], scalars())
    rules = set(re.findall(r"^    (\w+): (?:_|\$) =>", text, re.MULTILINE))
    used = set(re.findall(r"\$\.(\w+)", text))
    checks.expect("tree-sitter: all rules exist", used <= rules and rules - used == {"source_file"}, used ^ rules)
    for query in (EDITORS / "tree-sitter/queries").glob("*.scm"):
        nodes = set(re.findall(r"\((\w+)", query.read_text()))
        checks.expect(f"tree-sitter: {query.name}", nodes <= rules, nodes - rules)


def test_lists(hard, soft):
    vim = (EDITORS / "vim/syntax/kernelc.vim").read_text()
    words = {}
    for name, line in re.findall(r"^syntax keyword (\w+) (.*)$", vim, re.MULTILINE):
        words.setdefault(name, []).extend(line.split())
    same("Vim: hard words", words["kernelcKeyword"] + words["kernelcConstant"], hard)
    same("Vim: soft words", words["kernelcSoft"], soft)
    same("Vim: types", words["kernelcType"], scalars())
    emacs = (EDITORS / "emacs/kernelc-mode.el").read_text()
    lists = {name: re.findall(r'"(\w+)"', body) for name, body in re.findall(r"\(defconst kernelc-(\w+)\s+'\((.*?)\)\n", emacs, re.DOTALL)}
    same("Emacs: words", lists["keywords"] + lists["constants"], hard | soft)
    same("Emacs: types", lists["types"], scalars())
    checks.expect("Emacs: balanced parentheses", balance(emacs) == 0)


def balance(text):
    text = re.sub(r';.*|"(\\.|[^"\\])*"|\?\\?.', "", text)
    return text.count("(") - text.count(")")


def test_extension():
    folder = EDITORS / "vscode"
    package = json.loads((folder / "package.json").read_text())
    language, grammar = package["contributes"]["languages"][0], package["contributes"]["grammars"][0]
    checks.expect("VS Code: the language", (language["id"], language["extensions"]) == ("kernelc", [".kdl"]) and grammar["language"] == "kernelc")
    paths = [package["main"], language["configuration"], grammar["path"]]
    checks.expect("VS Code: all files exist", all((folder / path).is_file() for path in paths), paths)
    json.loads((folder / language["configuration"]).read_text())
    textmate = json.loads((folder / grammar["path"]).read_text())
    checks.expect("VS Code: the grammar", textmate["scopeName"] == grammar["scopeName"])


# Stands for the client library in the package: starts the server, and prints what the answer to `initialize` contains.
CLIENT = """
const { spawnSync } = require('child_process');
class LanguageClient {
  constructor(id, name, server, options) { Object.assign(this, { server, options }); }
  start() {
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { capabilities: {} } });
    const ran = spawnSync(this.server.command, this.server.args, { input: `Content-Length: ${body.length}\\r\\n\\r\\n${body}` });
    const answer = JSON.parse(ran.stdout.toString().split('\\r\\n\\r\\n')[1]);
    console.log(JSON.stringify([this.options.documentSelector, Object.keys(answer.result.capabilities), this.server.args]));
  }
  stop() { console.log('stopped'); }
}
module.exports = { LanguageClient, TransportKind: { stdio: 0 } };
"""
EDITOR = """
const settings = { path: 'kernelc', arguments: ['-D', 'BM=64'] };
module.exports = { workspace: { getConfiguration: () => ({ get: name => settings[name] }) } };
"""


def test_package(folder):
    copy = folder / "vscode"
    shutil.copytree(EDITORS / "vscode", copy, ignore=shutil.ignore_patterns("node_modules"))
    library = copy / "node_modules/vscode-languageclient"
    library.mkdir(parents=True)
    (library / "node.js").write_text(CLIENT)
    (library / "LICENSE").write_text("a file without an ending")
    out = folder / "kernelc.vsix"
    ran = subprocess.run([sys.executable, copy / "package.py", out], capture_output=True, text=True, timeout=60)
    checks.expect("the extension is packaged", ran.returncode == 0, ran.stderr)
    with zipfile.ZipFile(out) as archive:
        names = set(archive.namelist())
        types = ElementTree.fromstring(archive.read("[Content_Types].xml"))
        manifest = ElementTree.fromstring(archive.read("extension.vsixmanifest"))
        archive.extractall(folder / "unpacked")
    package = json.loads((copy / "package.json").read_text())
    identity = manifest.find(".//{*}Identity")
    checks.expect("the manifest names the extension", [identity.get(key) for key in ("Id", "Version", "Publisher")]
                  == [package[key] for key in ("name", "version", "publisher")])
    assets = {asset.get("Path") for asset in manifest.findall(".//{*}Asset")}
    checks.expect("each asset is in the archive", len(assets) == 2 and assets <= names, str(assets))
    endings = {one.get("Extension") for one in types.findall(".//{*}Default")}
    overridden = {one.get("PartName") for one in types.findall(".//{*}Override")}
    untyped = [name for name in names - {"[Content_Types].xml"}
               if pathlib.PurePath(name).suffix not in endings and f"/{name}" not in overridden]
    checks.expect("each file has a type", untyped == [], str(untyped))
    checks.expect("the files of the extension are in the archive", {f"extension/{package['main'][2:]}", "extension/syntaxes/kernelc.tmLanguage.json",
                  "extension/node_modules/vscode-languageclient/node.js"} <= names and "extension/package.py" not in names)
    if shutil.which("node") is None:
        print("skipped: running the extension, node is missing")
        return
    (folder / "unpacked/node_modules").mkdir()
    (folder / "unpacked/node_modules/vscode.js").write_text(EDITOR)
    run = "const one = require('./extension/extension.js'); one.activate(); one.deactivate();"
    ran = subprocess.run(["node", "-e", run], cwd=folder / "unpacked", capture_output=True, text=True, timeout=60)
    lines = ran.stdout.splitlines()
    checks.expect("the packaged extension starts and stops the server", len(lines) == 2 and lines[1] == "stopped", ran.stdout + ran.stderr)
    if len(lines) == 2:
        documents, capabilities, arguments = json.loads(lines[0])
        checks.expect("the server gets the arguments of the settings", arguments == ["lsp", "-D", "BM=64"], str(arguments))
        checks.expect("it serves files of the language", documents == [{"language": "kernelc", "scheme": "file"}], str(documents))
        checks.expect("the server can hover and complete", {"hoverProvider", "completionProvider"} <= set(capabilities), str(capabilities))


def main():
    hard, soft = lexer_words()
    checks.expect("the lexer has words", len(hard) > 20 and len(soft) > 20)
    test_textmate(hard, soft)
    test_tree_sitter(hard, soft)
    test_lists(hard, soft)
    test_extension()
    with tempfile.TemporaryDirectory() as name:
        test_package(pathlib.Path(name))
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
