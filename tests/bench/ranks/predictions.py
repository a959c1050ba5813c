"""Compares the times of small programs with those that are predicted from the network and from runs of one process.

The network is measured in the run that is predicted: it takes turns with the program. The trials of a run are divided into rounds, one after
another. Each time of a round is the least of its trials, which nothing has interrupted, so the rounds show how
the machine and the network change during the run. Nothing is fitted to what is predicted.
"""

import json
import os
import pathlib
import statistics
import tempfile

ROUNDS = 5
TRIALS = 300
TRIALS_OF_ONE = 100
TINY = ("jacobi", 8, 8, 2000)
EMPTY = ("jacobi", 512, 512, 0)
PARAMETERS = ("latency", "overhead", "gap", "gap_per_byte")


def of_rounds(values):
    """Returns the least of the values of each round."""
    length = len(values) // ROUNDS
    return [min(values[at:at + length]) for at in range(0, length * ROUNDS, length)]


def fitted(one_way, overhead, gap):
    """Returns the LogGP parameters of a network. A message of k bytes takes L + 2 o + k G, for which a line is fitted with relative
    errors."""
    rows = [(4.0 ** number, seconds, 1 / seconds ** 2) for number, seconds in enumerate(one_way)]
    w, wk, wt = (sum(weight * of(k, t) for k, t, weight in rows) for of in (lambda k, t: 1, lambda k, t: k, lambda k, t: t))
    wkk, wkt = (sum(weight * of(k, t) for k, t, weight in rows) for of in (lambda k, t: k * k, lambda k, t: k * t))
    slope = (w * wkt - wk * wt) / (w * wkk - wk * wk)
    return max((wt - slope * wk) / w - 2 * overhead, 0), overhead, gap, slope


def network_of(samples):
    """Returns the parameters of the network in each round."""
    lengths = range(len(samples[0]["one_way"]))
    one_way = zip(*(of_rounds([sample["one_way"][number] for sample in samples]) for number in lengths))
    overhead, gap = (of_rounds([sample[name] for sample in samples]) for name in ("overhead", "gap"))
    return dict(zip(PARAMETERS, map(list, zip(*map(fitted, one_way, overhead, gap)))))


def one_rank_times(row, measured):
    """Returns the seconds of all launches of each kernel, and those of a copied byte, in each round of the runs of one process."""
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.json"
        runs = len(measured(1, row, TRIALS_OF_ONE, env={**os.environ, "KDL_TRACE": str(trace)})["program"]["seconds"]) + 1
        events = json.loads(trace.read_text())
    spans = {}
    for event in sorted(events, key=lambda event: event.get("ts", 0)):
        if event["ph"] == "X":
            spans.setdefault("copy" if event["name"].startswith("copy ") else event["name"], []).append(event)
    kernels = {}
    for name, events in spans.items():
        count = len(events) // runs
        if " " not in name and name != "copy":
            kernels[name] = of_rounds([sum(event["dur"] for event in events[at:at + count]) * 1e-6
                                       for at in range(count, len(events), count)])
    # The first copy of a run writes new memory, as most copies of messages do.
    first = spans["copy"][::len(spans["copy"]) // runs]
    return {"copy_per_byte": of_rounds([event["dur"] * 1e-6 / event["args"]["bytes"] for event in first]), "kernels": kernels}


def missing_times(row, trials, measured, explained, launch):
    """Returns what the model lacks in each round of a program on two ranks, and how many exchanges the program has."""
    run = measured(2, row, trials, ["network"])
    times = {**network_of(run["network"]), "launch": launch, **one_rank_times(row, measured)}
    missing = []
    for number, seconds in enumerate(of_rounds(run["program"]["seconds"])):
        of_round = {name: values[number] for name, values in times.items() if name != "kernels"}
        of_round["kernels"] = {name: values[number] for name, values in times["kernels"].items()}
        model = explained(row, 2, of_round, None)[2]["seconds"]
        missing.append(seconds - model)
    # An exchange that takes a second shows how many there are.
    return missing, round(explained(row, 2, {**of_round, "exchange": 1}, None)[2]["seconds"] - model)


def extra_times(measured, explained, launch):
    """Returns the seconds of a call and of an exchange on two ranks in each round: those that the model lacks for a program without
    steps, and for many steps with tiny tensors."""
    less, fewer = missing_times((*TINY[:3], 0), TRIALS, measured, explained, launch)
    more, many = missing_times(TINY, 5 * ROUNDS, measured, explained, launch)
    exchange = [max(long - short, 0) / (many - fewer) for long, short in zip(more, less)]
    calls, exchanges = missing_times(EMPTY, TRIALS, measured, explained, launch)
    return {"call": [max(seconds - exchanges * one, 0) for seconds, one in zip(calls, exchange)], "exchange": exchange}


def interval(values):
    return f"{statistics.median(values) * 1e3:.3f} ms ({min(values) * 1e3:.3f} to {max(values) * 1e3:.3f})"


def compare(rows, measured, explained, plot):
    """Prints the times on one and two ranks of each program, next to the predicted ones. `measured(ranks, row, trials, twins)` runs
    a program, and `explained(row, ranks, times, plot)` predicts its times."""
    launch = [seconds / TINY[3] for seconds in of_rounds(measured(1, TINY, 5 * ROUNDS)["program"]["seconds"])]
    extra = extra_times(measured, explained, launch)
    print(", ".join(f"{name} {min(values) * 1e6:.3g} to {max(values) * 1e6:.3g} us" for name, values in extra.items()))
    for number, row in enumerate(rows):
        runs = {1: measured(1, row, TRIALS), 2: measured(2, row, TRIALS, ["network"])}
        network = network_of(runs[2]["network"])
        times = {**network, "launch": launch, **extra, **one_rank_times(row, measured)}
        points = explained(row, 4096 if plot and number == 0 else 2, times, plot if number == 0 else None)
        spread = ", ".join(f"{name} {min(values):.3g} to {max(values):.3g} s" for name, values in network.items())
        print(f"{row[0]} {row[1]}x{row[2]}, {row[3]} steps: {spread}")
        for ranks, run in runs.items():
            seconds, point = of_rounds(run["program"]["seconds"]), points[ranks]
            error = 100 * (point["seconds"] / statistics.median(seconds) - 1)
            foreseen = interval([point["least_seconds"], point["seconds"], point["most_seconds"]])
            is_apart = point["most_seconds"] < min(seconds) or max(seconds) < point["least_seconds"]
            print(f"    {ranks}: {interval(seconds)}, predicted {foreseen}: {error:+.0f} %{', APART' if is_apart else ''}", flush=True)
