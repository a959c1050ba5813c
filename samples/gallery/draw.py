#!/usr/bin/env python3
"""Runs the kernels of gallery.kdl and draws their results as PNG and SVG files: draw.py FOLDER [KERNEL...]"""

import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
DIGITS = HERE.parent / "digits"


def run(name, arguments, outputs, *options, kind="--kernel"):
    """Runs a kernel or program, and returns its outputs as arrays. Arrays are passed as files."""
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        command = ["kernelc", "run", str(HERE / "gallery.kdl"), kind, name, *options]
        for key, value in arguments.items():
            if isinstance(value, np.ndarray):
                np.save(folder / f"{key}.npy", value)
                value = f"@{folder / key}.npy"
            command += ["--arg", f"{key}={value}"]
        for output in outputs:
            command += ["--out", f"{output}=@{folder / output}.out.npy"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=300)
        return [np.load(folder / f"{output}.out.npy") for output in outputs]


def png(path, image):
    """Writes an image of bytes, gray [H, W] or RGB [H, W, 3]."""
    height, width = image.shape[:2]
    rows = np.zeros((height, 1 + image[0].size), np.uint8)  # each row begins with the number of its filter, 0
    rows[:, 1:] = image.reshape(height, -1)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2 if image.ndim == 3 else 0, 0, 0, 0)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows.tobytes(), 9))
                     + chunk(b"IEND", b""))


def colored(values):
    """Maps numbers from 0 to 1 to colors from dark blue over orange to white."""
    stops = np.array([[8, 12, 48], [60, 40, 130], [200, 70, 80], [250, 170, 60], [255, 255, 230]], float)
    at = np.clip(values, 0, 1) * (len(stops) - 1)
    low = np.minimum(at.astype(int), len(stops) - 2)
    part = (at - low)[..., None]
    return (stops[low] * (1 - part) + stops[low + 1] * part).astype(np.uint8)


def gray(values):
    return (np.clip(values, 0, 1) * 255).astype(np.uint8)


def scene(height=256, width=256):
    """A picture with discs, a square and stripes."""
    i, j = np.mgrid[0:height, 0:width] / height
    image = 0.25 + 0.35 * j
    image[(i - 0.35) ** 2 + (j - 0.35) ** 2 < 0.05] = 0.95
    image[(abs(i - 0.65) < 0.15) & (abs(j - 0.7) < 0.15)] = 0.1
    image[(i > 0.85) & ((j * 24).astype(int) % 2 == 0)] = 0.9
    return image.astype("f4")


def draw_mandelbrot(folder):
    (turns,) = run("mandelbrot", {"most": 200}, ["turns"], "--set", "H=480", "--set", "W=600")
    png(folder / "mandelbrot.png", colored(np.where(turns == 200, 0, np.log1p(turns) / np.log(201))))


def draw_filters(folder):
    image = scene()
    png(folder / "filter_before.png", gray(image))
    (blurred,) = run("blur", {"w": np.array([1, 4, 6, 4, 1], "f4") / 16, "x": image}, ["y"])
    png(folder / "filter_blur.png", gray(blurred))
    (edges,) = run("edges", {"x": image}, ["y"])
    png(folder / "filter_edges.png", gray(edges))


def density(places, size=256, half=2.0):
    """Counts bodies in each pixel."""
    at = ((places + half) / (2 * half) * size).astype(int)
    at = at[((at >= 0) & (at < size)).all(axis=1)]
    counts = np.zeros((size, size))
    np.add.at(counts, (at[:, 1], at[:, 0]), 1)
    return colored(np.sqrt(counts / 4))


def draw_bodies(folder, count=2048):
    """Two turning discs that meet."""
    draw = np.random.default_rng(1)
    radius, angle = np.sqrt(draw.uniform(0, 0.5, count)), draw.uniform(0, 2 * np.pi, count)
    p = np.stack([radius * np.cos(angle), radius * np.sin(angle)], 1)
    v = np.stack([-p[:, 1], p[:, 0]], 1) * 1.2
    side = np.where(np.arange(count) % 2 == 0, -0.9, 0.9)
    p[:, 0] += side
    v[:, 1] += side * 0.3
    p, v, m = p.astype("f4"), v.astype("f4"), np.full(count, 2.0 / count, "f4")
    png(folder / "bodies_before.png", density(p))
    (after,) = run("bodies", {"dt": 0.01, "steps": 150, "m": m, "v": v, "p": p}, ["p"], kind="--program")
    png(folder / "bodies_after.png", density(after))


def draw_attention(folder, length=128, width=32):
    """Queries that look for their own kind, of which there are eight, and for near positions."""
    draw = np.random.default_rng(2)
    kinds = draw.standard_normal((8, width))[np.arange(length) * 5 % 8]
    place = np.stack([np.cos(np.arange(length)[:, None] / (1 + n) / 6) for n in range(width)], 1)[:, :, 0]
    q = (1.6 * kinds + 1.2 * place + 0.3 * draw.standard_normal((length, width))).astype("f4")
    (weight,) = run("attention", {"q": q, "k": q}, ["weight"])
    assert np.allclose(weight.sum(axis=1), 1, atol=1e-4)
    png(folder / "attention.png", np.repeat(np.repeat(colored(np.sqrt(weight)), 3, 0), 3, 1))


CHART = """<svg xmlns="http://www.w3.org/2000/svg" width="480" height="260" viewBox="0 0 480 260" role="img" aria-label="{title}">
<title>{title}</title>
<style>
svg {{ --paper: #fff; --ink: #222; --grid: #ddd; --c0: #2f5d8c; }}
@media (prefers-color-scheme: dark) {{ svg {{ --paper: #1b1b1b; --ink: #e6e6e6; --grid: #444; --c0: #8ab4e0; }} }}
text {{ font: 12px sans-serif; fill: var(--ink); }} .grid {{ stroke: var(--grid); }}
</style>
<rect width="480" height="260" style="fill: var(--paper)"/>
{axes}
<polyline points="{points}" style="fill: none; stroke: var(--c0); stroke-width: 2"/>
<text class="axis" x="260" y="252" text-anchor="middle">{across}</text>
<text class="axis" x="14" y="110" text-anchor="middle" transform="rotate(-90 14 110)">{up}</text>
</svg>
"""


def chart(path, values, title, across, up):
    """Draws a curve as SVG. `across` and `up` are the titles of the axes."""
    left, right, top, bottom = 50, 465, 12, 215
    step = 10.0 ** np.floor(np.log10(max(values)))
    step = step if max(values) / step >= 3 else step / 2
    heights = np.arange(0, max(values) + step, step)

    def place(n, value):
        return left + (right - left) * n / (len(values) - 1), bottom - (bottom - top) * value / heights[-1]

    axes = []
    for value in heights:
        y = place(0, value)[1]
        axes.append(f'<line class="grid" x1="{left}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}"/>'
                    f'<text class="tick" x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{value:g}</text>')
    for n in range(0, len(values) + 1, len(values) // 4):
        x = place(max(n - 1, 0), 0)[0]
        axes.append(f'<text class="tick" x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{max(n, 1)}</text>')
    points = " ".join("{:.1f},{:.1f}".format(*place(n, value)) for n, value in enumerate(values))
    path.write_text(CHART.format(title=title, axes="\n".join(axes), points=points, across=across, up=up))


def draw_training(folder, epochs=400):
    """The loss of each epoch as a curve, and the weights for the ten digits."""
    x = np.load(DIGITS / "train_images.npy") / 16
    start = np.zeros((64, 10), "f4")
    w, loss = run("train", {"rate": 0.8, "x": x.astype("f4"), "label": np.load(DIGITS / "train_labels.npy"), "w": start},
                  ["w", "loss"], "--set", f"E={epochs}", kind="--program")
    right = (np.load(DIGITS / "test_images.npy") @ w).argmax(axis=1) == np.load(DIGITS / "test_labels.npy")
    print(f"digits: a linear classifier is right for {right.mean():.1%} of the held-out images")
    assert right.mean() > 0.9 and loss[-1] < loss[0] / 4
    chart(folder / "training_loss.svg", loss, f"The loss of a classifier of digits over {epochs} epochs", "time (epoch)",
          "loss (nats per image)")
    weights = np.concatenate([w[:, k].reshape(8, 8) for k in range(10)], axis=1)
    weights = 0.5 + weights / (2 * abs(weights).max())
    png(folder / "training_weights.png", np.repeat(np.repeat(colored(weights), 8, 0), 8, 1))


DRAWERS = {"mandelbrot": draw_mandelbrot, "filters": draw_filters, "bodies": draw_bodies, "attention": draw_attention,
           "training": draw_training}


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or DRAWERS:
        DRAWERS[name](folder)


if __name__ == "__main__":
    main()
