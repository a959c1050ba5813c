#!/usr/bin/env python3
"""Measures kernels on a GPU. Runs in the folder of a kit that pack.sh has built.

Launches each row of rows.py using only the driver, compares it with a reference in f64, then times it with
several numbers of blocks. For comparison, times torch's own function, too. Writes a line of JSON for each
row, to the output and to first.jsonl.

python3 first.py 200            # needs the GPU for itself; ends after 200 seconds
python3 first.py --small 60     # tiny sizes, NumPy instead of torch, no times

Each row runs in its own process, so a row that hangs or breaks the context affects only itself.
"""

import argparse
import json
import multiprocessing
import os
import pathlib
import sys
import time

import arrays
import rows
from ptx_kernel import RECORD_NUMBERS, Driver, Kernel

HERE = pathlib.Path(__file__).resolve().parent
LIMIT_S = 40  # limit for one row
BLOCKS = [132, 264, 528, 1056, 2112]
SMALL_BLOCKS = 2
RECORD_BYTES = 8 * RECORD_NUMBERS
TRIES = 5
LEAST_S = 0.06  # minimum time of one trial


def clock(torch, function):
    """Returns the seconds that a call takes by the device's clock: the median of several trials."""
    function()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    count, found = 1, []
    while len(found) < TRIES:
        begin.record()
        for _ in range(count):
            function()
        end.record()
        torch.cuda.synchronize()
        seconds = begin.elapsed_time(end) / 1e3
        if seconds < LEAST_S / TRIES and count < 4096:
            count *= 2
        else:
            found.append(seconds / count)
    return sorted(found)[TRIES // 2]


def error_of(a, row):
    """Returns the norm of the difference from the reference, divided by the norm of the reference."""
    wanted = row.reference()
    got = a.wide(row.tensors[row.out])
    if got.shape != wanted.shape:
        got = got[:, :wanted.shape[1]]
    norm = a.xp.linalg.norm
    return (norm((got - wanted).reshape(-1)) / norm(wanted.reshape(-1))).item()


def measure(a, row, result, bind, kernel):
    times = {}
    for blocks in BLOCKS:
        bind(blocks)
        times[blocks] = 1e3 * clock(a.xp, lambda: kernel.launch(a.stream))
    best = min(times.values())
    result["ms"] = times
    result["rate"] = f"{row.operations / best / 1e9:.1f} TFLOP/s" if row.operations else f"{row.bytes / best / 1e9:.3f} TB/s"
    try:
        result["torch_ms"] = 1e3 * clock(a.xp, row.baseline)
        result["of_torch"] = result["torch_ms"] / best
    except Exception as error:  # torch lacks the function or does not accept such tensors; the row's own numbers still count
        result["torch_ms"] = str(error)[:200]


def run_row(number, is_small, results):
    """Runs a row and puts its result into the queue. This function runs in a process of its own."""
    driver = Driver()
    a = arrays.NumpyArrays(driver) if is_small else arrays.TorchArrays(driver)
    row = list(rows.makers(a, rows.SMALL if is_small else rows.FULL))[number]()
    kernel = Kernel(driver, HERE / row.level, row.module, row.kernel, row.entry)
    given = {name: a.place(tensor) for name, tensor in row.tensors.items()} | row.scalars
    most = SMALL_BLOCKS if is_small else max(BLOCKS)
    workspace, record = a.zeros(max(RECORD_BYTES, most * kernel.core_bytes)), a.zeros(RECORD_BYTES)

    def bind(blocks):
        return kernel.bind(row.sizes, given, a.place(workspace)[0], a.place(record)[0], blocks)

    made = bind(most)
    kernel.launch(a.stream)
    a.wait()
    error, trap = error_of(a, row), int(a.wide(record)[:4].sum())
    result = {"row": number, "what": row.what, "card": a.card, "right": error <= row.most_error and trap == 0, "error": error,
              "trap": trap, "maps": f"{made} of {len(kernel.maps)}"}
    if not is_small:
        measure(a, row, result, bind, kernel)
    results.put(result)


def outcome(number, is_small, seconds):
    """Returns the row's result, or how its process ended."""
    context = multiprocessing.get_context("fork")  # torch is imported only once
    results = context.SimpleQueue()
    process = context.Process(target=run_row, args=(number, is_small, results))
    begin = time.monotonic()
    process.start()
    process.join(seconds)
    if process.is_alive():
        process.kill()
        process.join()
        return {"row": number, "right": False, "failed": f"over {seconds:.0f} s"}
    if results.empty():
        return {"row": number, "right": False, "failed": f"exit code {process.exitcode}"}
    return results.get() | {"seconds": round(time.monotonic() - begin, 1)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("seconds", type=float, help="no row begins or goes on after them")
    parser.add_argument("--small", action="store_true", help="tiny sizes, NumPy, no times")
    parser.add_argument("--row", type=int, help="this one only")
    options = parser.parse_args()
    os.environ.setdefault("CUDA_CACHE_PATH", str(HERE / "cache"))
    if not options.small:
        import torch  # noqa: F401: imported before the rows' processes are forked, which share its memory
    end = time.monotonic() + options.seconds
    log = pathlib.Path(os.environ.get("OUT", ".")) / "first.jsonl"
    count = len(list(rows.makers(None, rows.SMALL if options.small else rows.FULL)))
    right = 0
    chosen = range(count) if options.row is None else [options.row]
    for number in chosen:
        left = end - time.monotonic()
        result = (outcome(number, options.small, min(LIMIT_S, left)) if left > 0
                  else {"row": number, "right": False, "failed": "not begun"})
        right += result["right"]
        line = json.dumps(result)
        print(line, flush=True)
        with log.open("a") as file:
            file.write(line + "\n")
    print(f"{right} passed, {len(chosen) - right} failed")
    return 0 if right == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
