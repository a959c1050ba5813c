"""Runs inside gdb, for debugger.py: stops once at each line of a kernel, and reports which variables can be read there.

The environment variable KDL_PROBE names a JSON file with `file`, the name of the source, and `lines`, which maps lines
to the variables in scope, and `expressions`, which maps lines to expressions. The results replace the file: for each line
that has code and was reached, the variables that gdb cannot show, with its reasons; and the values of the expressions.
"""

import json
import os

import gdb


def is_known(value):
    """Returns whether all of the value is known."""
    if value.is_optimized_out:
        return False
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_STRUCT:
        return all(is_known(value[field]) for field in kind.fields())
    return "<optimized out>" not in value.format_string(max_elements=4)


def problem(name):
    try:
        return None if is_known(gdb.parse_and_eval(name)) else "optimized out"
    except gdb.error as error:
        return str(error)


def value(expression):
    try:
        return float(gdb.parse_and_eval(expression))
    except gdb.error as error:
        return str(error)


class Probe(gdb.Breakpoint):
    def __init__(self, place, names, expressions, results):
        # At the first instruction of an inlined fn, gdb is in the fn only for breakpoints of users.
        super().__init__(place)
        self.names, self.expressions, self.results, self.line = names, expressions, results, place.rsplit(":", 1)[1]

    def stop(self):
        problems, values = self.results
        if self.line not in problems:
            problems[self.line] = {name: problem(name) for name in self.names}
            values[self.line] = {expression: value(expression) for expression in self.expressions}
            self.enabled = False
        return False


def main():
    with open(os.environ["KDL_PROBE"], encoding="utf-8") as file:
        wanted = json.load(file)
    results = ({}, {})
    for line, names in wanted["lines"].items():
        place = f"{wanted['file']}:{line}"
        try:
            found = gdb.decode_line(place)[1]
        except gdb.error:
            continue
        if found and any(at.line == int(line) for at in found):
            Probe(place, names, wanted["expressions"].get(line, []), results)
    gdb.execute("run")
    with open(os.environ["KDL_PROBE"], "w", encoding="utf-8") as file:
        json.dump(results, file)


gdb.execute("set breakpoint pending off")
gdb.execute("set pagination off")
gdb.execute("set max-value-size unlimited")
gdb.execute("set print thread-events off")
main()
