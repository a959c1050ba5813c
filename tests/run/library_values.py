#!/usr/bin/env python3
"""Tests contracts of library kernels with other values of their parameters than the defaults: strides, paddings, formats and functions.
It tests a random selection for 20 seconds, or all with --all."""

import pathlib
import random
import subprocess
import sys
import time

from shared import checks, seeds

STDLIB = pathlib.Path(__file__).resolve().parents[2] / "stdlib"
STRIDED = "KD=2 KH=3 KW=2 SD=1 SH=2 SW=3 PD=1 PH=1 PW=0 DID=1 DIH=2 DIW=1"
WIDE = "KD=1 KH=2 KW=3 SD=2 SH=1 SW=2 PD=0 PH=0 PW=1 DID=1 DIH=1 DIW=2"
ROWS = [
    *[("windows", kernel, f"T={kind} {values}") for kernel, kind in [
        ("conv3d", "f32"), ("conv3d", "i32"), ("conv_transpose3d", "f32"), ("max_pool3d", "i8"), ("average_pool3d", "f64"), ("power_pool3d", "f32")]
      for values in (STRIDED, WIDE)],
    ("gradients", "conv3d_backward", f"T=f32 {STRIDED}"),
    ("windows", "col2im", "T=f32 SD=1 SH=2 SW=3 PD=1 PH=1 PW=0 DID=1 DIH=2 DIW=1"),
    ("windows", "deformable_conv2d", "T=f32 KH=2 KW=3 SH=2 SW=1 PH=1 PW=0 DIH=1 DIW=2"),
    ("image", "grid_sample", "T=f32 F=cubic P=reflection K=4"),
    ("image", "grid_sample", "T=f64 P=border KD=2"),
    ("image", "grid_sample", "T=f32 P=reflection"),
    *[("resize", "resize", f"T=f64 C={where} {curve}") for where, curve in [
        ("align_corners", "F=image.cubic RADIUS=2"), ("half_pixel_symmetric", ""), ("cropped", ""), ("asymmetric", "F=image.cubic RADIUS=2"),
        ("half_pixel_or_first", "")]],
    *[("resize", "resize_nearest", f"T=i16 C={where} Q={rule}") for where, rule in [("asymmetric", "floor"), ("cropped", "round_up"), ("half_pixel", "ceil")]],
    *[("narrow", kernel, f"T={kind} {values}") for values in ("M=3 BIAS=7 SIGN=128", "M=3 BIAS=8 SIGN=128", "M=2 BIAS=15 SIGN=128")
      for kernel, kind in [("encode", "f32"), ("decode", "f64")]],
    ("narrow", "encode_integer", "T=f64 BITS=2"),
    ("narrow", "decode_integer", "T=i32 BITS=2"),
    ("nn", "local_response_norm", "T=f32 SIZE=4"),
    ("linalg", "matmul_packed", "T=f16 S=4"),
    ("linalg", "matmul_int4", "T=f32 S=4"),
    ("recurrent", "lstm_cell", "T=f64 F=tanh G=sigmoid E=nn.relu"),
    ("recurrent", "gru_cell", "T=f16 G=nn.relu"),
    *[("gradients", "map_backward", f"T=f64 F={function}") for function in ("logistic", "hyperbolic", "silu", "gelu", "softplus")],
]
TOPS = {"M=3 BIAS=7 SIGN=128": 126, "M=3 BIAS=8 SIGN=128": 127, "M=2 BIAS=15 SIGN=128": 123}


def main():
    random.Random(seeds.of_today()).shuffle(ROWS)
    end = time.monotonic() + (float("inf") if "--all" in sys.argv[1:] else 20)
    for file, kernel, values in ROWS:
        if time.monotonic() > end:
            break
        words = values.split()
        if kernel == "encode":
            words.append(f"TOP={TOPS[values.partition(' ')[2]]}")
        done = subprocess.run(["kernelc", "test", STDLIB / f"{file}.kdl", "--kernel", kernel, "--target", "host", "--core-num", "3",
                               *[part for word in words for part in ("-D", word)]], capture_output=True, text=True)
        checks.expect(f"{file}.{kernel} with {values}", done.returncode == 0, done.stdout + done.stderr)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
