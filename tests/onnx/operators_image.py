"""Rows for operators on images: sampling, resizing, regions and boxes."""

import math

import numpy as np

from library import kind, product, volume

PLACES = {"align_corners": "align_corners", "asymmetric": "asymmetric", "half_pixel": "half_pixel", "pytorch_half_pixel": "half_pixel_or_first",
          "half_pixel_symmetric": "half_pixel_symmetric", "tf_crop_and_resize": "cropped"}
ROUNDS = {"round_prefer_floor": "round_down", "round_prefer_ceil": "round_up", "floor": "floor", "ceil": "ceil"}


def grid_sample(c):
    x, grid = c.x
    mode = c.get("mode", "linear").removeprefix("bi")
    count = {"nearest": 1, "linear": 2, "cubic": 4}[mode]
    places = np.zeros((*volume(x).shape[:1], *[1] * (5 - grid.ndim), *grid.shape[1:-1], 3), grid.dtype)
    places[..., :grid.shape[-1]] = grid.reshape(*places.shape[:-1], -1)
    y = np.empty((*x.shape[:2], *places.shape[1:4]), x.dtype)
    c.library("image", "grid_sample", T=kind(x), F="cubic" if mode == "cubic" else "linear", P=c.get("padding_mode", "zeros"), K=count,
              KD=count if x.ndim == 5 else 1)(volume(x), places, bool(c.get("align_corners", 0)), y)
    return y.reshape(*x.shape[:2], *grid.shape[1:-1])


def affine_grid(c):
    theta, size = c.x[0], [int(n) for n in c.x[1][2:]]
    rank = len(size)
    wide = np.zeros((len(theta), 3, 4), theta.dtype)
    wide[:, :rank, :rank], wide[:, :rank, 3] = theta[:, :, :rank], theta[:, :, rank]
    y = np.empty((len(theta), *[1] * (3 - rank), *size, 3), theta.dtype)
    c.library("image", "affine_grid", T=kind(theta))(wide, bool(c.get("align_corners", 0)), y)
    return c.copy(y[..., :rank]).reshape(len(theta), *size, rank)


def non_max_suppression(c):
    boxes, scores = c.x[:2]
    most = min(int(c.input(2, np.array(0)).reshape(-1)[0]), boxes.shape[1])
    limit, least = (float(c.input(number, np.array(default)).reshape(-1)[0]) for number, default in [(3, 0.0), (4, -np.inf)])
    kept = np.empty((*scores.shape[:2], most), "i8")
    c.library("image", "non_max_suppression")(boxes, scores, bool(c.get("center_point_box", 0)), limit, least, kept)
    places = c.positions(c.compare("greater_or_equal", kept, np.array(0)))
    batches, classes, _ = (np.ascontiguousarray(one).reshape(-1) for one in np.meshgrid(*map(np.arange, kept.shape), indexing="ij"))
    return np.stack([c.take(one, places, 0) for one in (batches, classes, kept.reshape(-1))], 1)


def roi_align(c):
    x, rois, images = c.x
    y = np.empty((len(rois), x.shape[1], c.get("output_height", 1), c.get("output_width", 1)), x.dtype)
    shift = 0.5 if c.get("coordinate_transformation_mode", "half_pixel" if c.version >= 16 else "output_half_pixel") == "half_pixel" else 0.0
    c.library("image", "roi_align", T=kind(x))(
        x, rois, images.astype("i8"), c.get("spatial_scale", 1.0), shift, c.get("sampling_ratio", 0), c.get("mode", "avg") == "max", y)
    return y


def sizes_of(c, x, axes):
    """Returns the new sizes of axes, and the scales."""
    sizes, scales = c.input(3), c.x[1] if c.node.op_type == "Upsample" and len(c.x) > 1 else c.input(2, np.array(c.get("scales", []), "f4"))
    if sizes is None or not sizes.size:
        return [int(x.shape[a] * float(s)) for a, s in zip(axes, scales)], scales
    scales = [m / x.shape[a] for a, m in zip(axes, sizes)]
    policy = c.get("keep_aspect_ratio_policy", "stretch")
    if policy != "stretch":
        scales = [(min if policy == "not_larger" else max)(scales)] * len(axes)
        sizes = [int(math.floor(x.shape[a] * s + 0.5)) for a, s in zip(axes, scales)]
    return [int(m) for m in sizes], scales


def resize(c):
    x, is_old = c.x[0], c.node.op_type == "Upsample"
    axes = [a % x.ndim for a in c.get("axes", range(x.ndim))]
    sizes, scales = sizes_of(c, x, axes)
    where = "asymmetric" if is_old else c.get("coordinate_transformation_mode", "half_pixel")
    roi = None if is_old else c.input(1)
    for number, (axis, m, scale) in enumerate(zip(axes, sizes, scales)):
        bounded = where == "tf_crop_and_resize"
        if x.shape[axis] == m and scale == 1 and not bounded:
            continue
        part = (float(roi[number]), float(roi[number + len(axes)])) if roi is not None and roi.size else (0.0, 1.0)
        view = np.ascontiguousarray(x).reshape(product(x.shape[:axis]), x.shape[axis], product(x.shape[axis + 1:]))
        y = np.empty((view.shape[0], m, view.shape[2]), x.dtype)
        end = bounded, x.dtype.type(c.get("extrapolation_value", 0.0)), y
        if c.get("mode", "nearest") == "nearest":
            rule = "floor" if is_old else ROUNDS[c.get("nearest_mode", "round_prefer_floor")]
            c.library("resize", "resize_nearest", T=kind(x), C=PLACES[where], Q=rule)(view, float(scale), *part, *end)
        else:
            curve = {"F": "image.cubic", "RADIUS": 2} if c.get("mode") == "cubic" else {}
            c.library("resize", "resize", T=kind(x), C=PLACES[where], **curve)(
                view, float(scale), *part, c.get("cubic_coeff_a", -0.75), bool(c.get("antialias", 0)), bool(c.get("exclude_outside", 0)), *end)
        x = y.reshape([m if i == axis else size for i, size in enumerate(x.shape)])
    return x


ROWS = {
    "AffineGrid": affine_grid,
    "GridSample": grid_sample,
    "NonMaxSuppression": non_max_suppression,
    "Resize": resize,
    "RoiAlign": roi_align,
    "Upsample": resize,
}
