#!/usr/bin/env python3
"""Executes the notebook of the guide in a kernel of Jupyter, and compares its outputs. `notebook.py --update` stores them. Of a picture
with measurements, which differ each time, only its presence is compared.

Jupyter's packages are downloaded from PyPI when they are first needed, into a folder next to the builds."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from shared import checks, pypi

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "samples/guide/notebook.ipynb"
PACKAGE = pathlib.Path(shutil.which("kernelc")).resolve().parents[1] / "python"
PACKAGES = ["nbclient==0.11.0", "ipykernel==7.4.0"]
EXECUTE = """
import sys, nbformat, nbclient
notebook = nbformat.read(sys.argv[1], 4)
nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
nbformat.write(notebook, sys.argv[2])
"""


def python():
    """Returns the Python of an environment with Jupyter's packages, and with Debian's NumPy."""
    return pypi.environment(PACKAGES, debian=["numpy"]) / "bin/python"


def texts(cell):
    """Returns what a cell has printed, by its streams, and the values that it shows."""
    found = {}
    for output in cell["outputs"]:
        data = output.get("data", {})
        text = "a picture" if "image/svg+xml" in data else output.get("text") or data.get("text/plain") or output.get("evalue", "")
        name = output.get("name", output["output_type"])
        found[name] = found.get(name, "") + "".join(text)
    return found


def stored_output(output):
    return {**output, **({"execution_count": None} if "execution_count" in output else {})}


def main():
    if not list(PACKAGE.glob("kernelc/_core*.so")):
        print("the build has no Python package, because Python's headers are missing")
        return 77
    with tempfile.TemporaryDirectory() as name:
        executed = pathlib.Path(name, "executed.ipynb")
        environment = {**os.environ, "PYTHONPATH": str(PACKAGE), "KDL_CACHE_DIR": name, "IPYTHONDIR": name, "JUPYTER_RUNTIME_DIR": name}
        done = subprocess.run([str(python()), "-c", EXECUTE, str(NOTEBOOK), str(executed)], env=environment, capture_output=True, text=True, timeout=300)
        checks.expect("the notebook runs", done.returncode == 0, done.stdout + done.stderr)
        if done.returncode != 0:
            return checks.end()
        stored, made = json.loads(NOTEBOOK.read_text()), json.loads(executed.read_text())
    for old, new in zip(stored["cells"], made["cells"]):
        if old["cell_type"] != "code":
            continue
        found = texts(new)
        if sys.argv[1:] == ["--update"]:
            old["outputs"] = [stored_output(output) for output in new["outputs"]]
        else:
            checks.expect(f"output of\n{''.join(old['source'])}", texts(old) == found, f"{texts(old)}\n{found}")
    if sys.argv[1:] == ["--update"]:
        NOTEBOOK.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n")
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
