"""Times OpenCV's functions that compute what some rows compute. Needs the package opencv-python-headless."""

import statistics
import time


def functions(cv2, numpy):
    """Returns a function for each (file, kernel); it takes the sizes, and returns a call without parameters."""
    generator = numpy.random.default_rng(1)
    window = cv2.getStructuringElement(cv2.MORPH_RECT, (3, 3))
    cross = cv2.getStructuringElement(cv2.MORPH_CROSS, (3, 3))

    def image(sizes, height="H", width="W"):
        return generator.integers(0, 256, (sizes[height], sizes[width]), numpy.uint8)

    def reals(height, width):
        return generator.random((height, width), numpy.float32)

    def filtered(function, *arguments, kind=numpy.uint8, **named):
        def prepared(sizes):
            x = image(sizes)
            y = numpy.empty(x.shape, kind)
            return lambda: function(x, *arguments, dst=y, **named)
        return prepared

    def sobel(sizes):
        x = image(sizes)
        gx, gy = (numpy.empty(x.shape, numpy.int16) for _ in range(2))
        return lambda: cv2.spatialGradient(x, gx, gy, 3, cv2.BORDER_REPLICATE)

    def bilinear(sizes):
        x, y = image(sizes), numpy.empty((sizes["M"], sizes["N"]), numpy.uint8)
        return lambda: cv2.resize(x, y.shape[::-1], dst=y, interpolation=cv2.INTER_LINEAR)

    def cubic(height, width):
        def prepared(sizes):
            x, y = reals(sizes["H"], sizes["W"]), numpy.empty((sizes[height], sizes[width]), numpy.float32)
            return lambda: cv2.resize(x, y.shape[::-1], dst=y, interpolation=cv2.INTER_CUBIC)
        return prepared

    def yuv(sizes):
        x = generator.integers(0, 256, (sizes["H"] * 3 // 2, sizes["W"]), numpy.uint8)
        y = numpy.empty((sizes["H"], sizes["W"], 3), numpy.uint8)
        return lambda: cv2.cvtColor(x, cv2.COLOR_YUV2RGB_I420, dst=y)

    return {
        ("edges", "gaussian"): filtered(cv2.GaussianBlur, (5, 5), 0, borderType=cv2.BORDER_REPLICATE),
        ("edges", "sobel"): sobel,
        ("morphology", "median"): filtered(cv2.medianBlur, 3),
        ("morphology", "erode"): filtered(cv2.erode, window),
        ("morphology", "outline"): filtered(cv2.morphologyEx, cv2.MORPH_GRADIENT, cross),
        ("resize", "bilinear"): bilinear,
        ("resize", "cubic_across"): cubic("H", "N"),
        ("resize", "cubic_down"): cubic("M", "W"),
        ("colour", "yuv_to_rgb"): yuv,
    }


class Peer:
    def __init__(self):
        import cv2
        import numpy
        self.cv2 = cv2
        self.functions = functions(cv2, numpy)

    def time(self, row, threads, trials):
        """Returns the median time of a call in ns, or None where OpenCV has no such function."""
        prepare = self.functions.get((row.file, row.kernel))
        if prepare is None:
            return None
        self.cv2.setNumThreads(threads)
        call = prepare(row.sizes)
        clock = time.thread_time_ns if threads == 1 else time.perf_counter_ns
        call()
        times, count = [], 1
        while len(times) < trials:
            begin = clock()
            for _ in range(count):
                call()
            took = clock() - begin
            if took < 2_000_000:
                count *= 2
            else:
                times.append(took / count)
        return statistics.median(times)
