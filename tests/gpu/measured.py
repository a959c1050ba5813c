"""The times, in ms, that first.py measured on an H200 on 27 November 2026, with the compiler of that day, by
numbers of blocks. FITTED names the rows whose times were used to fit constants of model/costs.py; the other rows
were only predicted."""

BLOCKS = (132, 264, 528, 1056, 2112)
MEASURED = {
    "matmul bf16 8192 x 8192 x 8192 sm_90a": (1.733, 1.860, 1.864, 1.872, 1.885),
    "matmul bf16 4096 x 4096 x 4096 sm_90a": (0.264, 0.265, 0.304, 0.277, 0.267),
    "matmul bf16 4095 x 4088 x 4104 sm_90a": (0.377, 0.368, 0.339, 0.339, 0.341),
    "matmul bf16 8192 x 512 x 8192 sm_90a": (0.335, 0.321, 0.320, 0.327, 0.334),
    "matmul bf16 16 x 4096 x 4096 sm_90a": (0.055, 0.050, 0.050, 0.051, 0.050),
    "matmul bf16 256 x 192 x 512 sm_90a": (None, None, None, 0.016, None),
    "matmul bf16 8192 x 8192 x 8192 sm_80": (8.127, 4.592, 4.581, 4.577, 4.598),
    "matmul f32 4096 cubed sm_90a": (5.207, 3.732, 3.727, 3.709, 3.713),
    "matmul i8 4096 x 4096 x 4096": (None, None, None, 0.140, None),
    "matmul i8 8192 x 4096 x 4096": (None, None, None, 0.281, None),
    "matmul i8 200 x 4096 x 4096": (None, None, None, 0.032, None),
    "matmul f8e4m3 4096 x 4096 x 4096": (None, None, None, 0.212, None),
    "matmul f8e4m3 8192 x 4096 x 4096": (None, None, None, 0.422, None),
    "matmul f8e4m3 200 x 4096 x 4096": (None, None, None, 0.027, None),
    "attention bf16 D 128 2 x 16 x 8192 sm_90a": (None, None, None, 9.85, None),
    "attention bf16 D 128 32 x 32 x 1024 sm_90a": (None, None, None, 5.76, None),
    "attention bf16 D 128 1 x 2 x 200 sm_90a": (None, None, None, 0.045, None),
    "softmax": (2.401, 1.351, 0.812, 0.808, 0.669),
    "layer_norm": (2.188, 1.275, 0.762, 0.750, 0.658),
    "row_sum": (None, None, None, 0.391, None),
    "column_sum": (None, None, None, 2.685, None),
    "transpose": (1.245, 0.729, 0.649, 0.676, 3.085),
    "matvec": (3.932, 2.012, 1.169, 1.282, 1.283),
    "gather of rows": (3.617, 1.888, 1.040, 0.615, 0.441),
    "gelu": (2.292, 1.208, 0.674, 0.416, 0.328),
    "jacobi": (4.007, 2.106, 1.180, 0.822, 0.758),
    "copy f32": (None, None, None, 0.706, 0.561),
    "copy bf16": (None, None, None, 1.195, 0.804),
}
FITTED = ["matmul bf16 8192 x 8192 x 8192 sm_90a", "matmul bf16 8192 x 512 x 8192 sm_90a", "matmul i8 4096 x 4096 x 4096",
          "matmul f8e4m3 200 x 4096 x 4096", "softmax", "row_sum", "transpose", "gather of rows", "copy f32"]


def times_of(what):
    """Returns {blocks: ms}."""
    return {blocks: ms for blocks, ms in zip(BLOCKS, MEASURED.get(what, ())) if ms}
