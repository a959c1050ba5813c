"""What a script has checked: counted, and told at its end."""

failures = []
passed = 0


def expect(what, holds, output=""):
    global passed
    if holds:
        passed += 1
    else:
        failures.append(f"{what}\n{output}")


def end():
    """Prints what failed and how much there was; gives the exit code."""
    for failure in failures:
        print(f"FAILED: {failure}\n")
    print(f"{passed} passed, {len(failures)} failed")
    return 1 if failures else 0
