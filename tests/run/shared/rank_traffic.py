"""Compares what ranks send in a run with what `kernelc explain` predicts, and with what they must receive."""

import json
import re

from shared import checks
from shared.rank_runs import run


def sent_in_run(text):
    """Returns the messages and bytes that `kernelc run -v` prints, by tensor and cause."""
    rows = re.findall(r"^(\w+): (.*): (\d+) messages, (\d+) bytes$", text, re.MULTILINE)
    return {(tensor, cause): (int(messages), int(size)) for tensor, cause, messages, size in rows}


def explained(file, words, ranks, folder):
    """Returns the messages and bytes that `kernelc explain` predicts, by tensor and cause."""
    done = run(["kernelc", "explain", "--communication", str(file), "--ranks", str(ranks), *words, "--json"], folder)
    rows = json.loads(done.stdout)["communication"]["tensors"]
    for row in rows:
        pairs = row.get("pairs", [])
        assert sum(pair["bytes"] for pair in pairs) == row["bytes"], row
        assert all(0 <= pair["from"] < ranks and pair["from"] != pair["to"] for pair in pairs), row
    return {(row["tensor"], row["cause"]): (row["messages"], row["bytes"]) for row in rows if row["messages"]}


def compare_traffic(file, words, ranks, folder, is_exact):
    """Compares what is sent in a run with what `explain` predicts, and with what the interpreter counts. `is_exact` says
    whether the kernels read complete boxes."""
    done = run(["kernelc", "run", str(file), *words, "--device", f"grid=ranks?count={ranks}", "-v", "--verify"], folder)
    check_traffic(done, file, words, ranks, folder, is_exact)


def check_traffic(done, file, words, ranks, folder, is_exact):
    """Like compare_traffic, for a run that has ended."""
    checks.expect(f"{ranks} ranks do not send what is explained: {done.stdout}{done.stderr}",
                  sent_in_run(done.stdout) == explained(file, words, ranks, folder))
    counted = re.search(r"the ranks received (\d+) bytes, and read (\d+) of them", done.stdout)
    checks.expect(f"nothing was counted: {done.stdout}{done.stderr}", counted)
    if counted:
        received, read = map(int, counted.groups())
        checks.expect(f"{ranks} ranks: {counted[0]}", received == read if is_exact else received >= read)
