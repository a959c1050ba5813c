"""Counts a script's checks, and reports them at its end."""

failures = []
skipped = []
passed = 0


def expect(what, holds, output=""):
    global passed
    if holds:
        passed += 1
    else:
        failures.append(f"{what}\n{output}")


def skip(what, why):
    """Records a check that this machine cannot run."""
    skipped.append(what)
    print(f"skipped: {what}: {why}")


def end():
    """Prints the failures and the totals; returns the exit code. A script that has checked nothing fails, unless it has skipped something."""
    if not passed and not failures and not skipped:
        failures.append("nothing was checked")
    for failure in failures:
        print(f"FAILED: {failure}\n")
    print(f"{passed} passed, {len(failures)} failed" + (f", {len(skipped)} skipped" if skipped else ""))
    return 1 if failures else 0
