#!/usr/bin/env python3
"""Runs what pages tell their readers to type: tests/readme.py [--update] PAGE.md...

Every ```sh block is one script. It runs in a scratch folder with links to the README's own folder and its
neighbours, so nothing is written next to the sources. `kernelc` is the program on PATH, and Python finds the
package of the same build. The output is printed. If the next block is ```text, the output must end with that block; `--update` writes the whole output
there. Every ```kdl block is a whole file, which must compile. The scripts that follow use it as example.kdl, or
under the name in a comment on its first line. So do ```python blocks, which are scripts if they begin with `import kernelc`.
Exits with 1 at the first block that fails.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FILE_NAME = re.compile(r"// (\w+\.kdl)\n")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def scripts(text, scratch):
    """Yields the ```sh, ```python and ```kdl blocks as (script, the ```text block that follows or None)."""
    blocks = BLOCK.findall(text)
    for n, (kind, body) in enumerate(blocks):
        if kind == "kdl":
            named = FILE_NAME.match(body)
            name = named[1] if named else "example.kdl"
            (scratch / name).write_text(body)
            yield f"kernelc build {name} -o {name.removesuffix('.kdl')}\n", None
        elif kind == "python" and body.startswith("import kernelc"):
            yield f"python3 - << 'END'\n{body}END\n", None
        elif kind == "sh":
            follows = blocks[n + 1] if n + 1 < len(blocks) else ("", "")
            yield body, follows[1] if follows[0] == "text" else None


def neighbours(folder):
    """Returns the folders next to this one if they belong to the same part of the project: if their parent
    has a README, too."""
    if not (folder.parent / "README.md").exists():
        return []
    return [entry for entry in folder.parent.iterdir() if entry.is_dir() and entry != folder]


def run(readme, update):
    """Returns the first complaint about a page, or None."""
    text = readme.read_text()
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(shutil.which("kernelc")).resolve().parents[1] / "python"),
                   # Open MPI does not start programs for root, the user of most containers, without these.
                   "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    with tempfile.TemporaryDirectory(prefix="readme-") as whole:
        scratch = pathlib.Path(whole) / readme.parent.name
        scratch.mkdir()
        for entry in readme.parent.iterdir():
            (scratch / entry.name).symlink_to(entry)
        for neighbour in neighbours(readme.parent):
            (pathlib.Path(whole) / neighbour.name).symlink_to(neighbour)
        for script, expected in scripts(text, scratch):
            done = subprocess.run(["bash", "-euo", "pipefail", "-c", script], cwd=scratch, env=environment,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  timeout=600)
            sys.stdout.write(done.stdout)
            if done.returncode != 0:
                return f"exit code {done.returncode} from\n{script}"
            if update and expected is not None:
                text = text.replace(f"{script}```\n\n```text\n{expected}", f"{script}```\n\n```text\n{done.stdout}")
            elif expected is not None and not done.stdout.endswith(expected):
                return f"the output should end with\n{expected}after\n{script}"
    if update:
        readme.write_text(text)
    return None


def main():
    update = sys.argv[1:2] == ["--update"]
    for name in sys.argv[1 + update:]:
        complaint = run(pathlib.Path(name).resolve(), update)
        if complaint:
            sys.exit(f"{name}: {complaint}")


if __name__ == "__main__":
    main()
