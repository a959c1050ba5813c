"""What a script has checked: counted, and told at its end."""

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
    """What this machine cannot check."""
    skipped.append(what)
    print(f"skipped: {what}: {why}")


def end():
    """Prints what failed and how much there was; gives the exit code."""
    for failure in failures:
        print(f"FAILED: {failure}\n")
    print(f"{passed} passed, {len(failures)} failed" + (f", {len(skipped)} skipped" if skipped else ""))
    return 1 if failures else 0
