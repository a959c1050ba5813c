#!/usr/bin/env python3
"""Prints how many lines kernels of the library have, next to the kernels of Helion's examples, and of Triton's tutorials, that compute the same.

    python3 tests/bench/kernel_lines.py HELION [TRITON]   # clones of https://github.com/pytorch/helion and .../triton-lang/triton

Lines of code count, without empty ones, comments and documentation: in Python from the first decorator to the end of the function, in KDL from
`export kernel` to the end of the body. The contract of a kernel, which the others do not have, is counted apart."""
import ast
import pathlib
import re
import sys

STDLIB = pathlib.Path(__file__).resolve().parents[2] / "stdlib"
PAIRS = [
    ("elementwise.map", "exp.exp_fwd"),
    ("elementwise.map2", "add.add"),
    ("gradients.attention_backward", "attention.attention_backward"),
    ("gradients.layer_norm_backward", "layer_norm.layer_norm_bwd"),
    ("gradients.rms_norm_backward", "rms_norm.rms_norm_bwd"),
    ("gradients.softmax_backward", "softmax.softmax_bwd"),
    ("linalg.batched_matmul", "bmm.bmm"),
    ("linalg.matmul", "matmul.matmul"),
    ("linalg.matmul_int4", "int4_gemm.matmul_bf16_int4"),
    ("nn.attention", "attention.biased_attention"),
    ("nn.gather", "embedding.embedding"),
    ("nn.layer_norm", "layer_norm.layer_norm_fwd"),
    ("nn.rms_norm", "rms_norm.rms_norm_fwd"),
    ("nn.rotary", "rope.rope_fwd"),
    ("nn.softmax", "softmax.softmax_two_pass"),
    ("random.dropout", "low_mem_dropout.low_mem_dropout"),
    ("reduce.sum_axis", "sum.sum_kernel"),
]

TUTORIALS = {
    "elementwise.map2": ["01-vector-add.add_kernel"],
    "gradients.layer_norm_backward": ["05-layer-norm._layer_norm_bwd_dx_fused", "05-layer-norm._layer_norm_bwd_dwdb"],
    "linalg.matmul": ["03-matrix-multiplication.matmul_kernel"],
    "nn.attention": ["06-fused-attention._attn_fwd_inner", "06-fused-attention._attn_fwd"],
    "nn.layer_norm": ["05-layer-norm._layer_norm_fwd_fused"],
    "nn.softmax": ["02-fused-softmax.softmax_kernel"],
    "random.dropout": ["04-low-memory-dropout._seeded_dropout"],
}


def code_lines(text, comment):
    return sum(1 for line in text.splitlines() if line.strip() and not line.strip().startswith(comment))


def lines_of_kernel(name):
    """Returns the lines of a kernel of the library, and those of its contract."""
    file, kernel = name.split(".")
    text = re.search(rf"^export kernel {kernel}\b.*?(?=^export |^///|^fn |\Z)", (STDLIB / f"{file}.kdl").read_text(), re.MULTILINE | re.DOTALL)[0]
    contract = re.search(r"^(requires|ensures) \{", text, re.MULTILINE).start()
    return code_lines(text[:contract], "//"), code_lines(text[contract:], "//")


def lines_of_function(folder, name):
    file, function = name.split(".")
    path = folder / f"{file}.py"
    tree = ast.parse(path.read_text())
    (found,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == function)
    first = min([found.lineno, *(decorator.lineno for decorator in found.decorator_list)])
    text = path.read_text().splitlines()[first - 1:found.end_lineno]
    if ast.get_docstring(found) is not None:
        written = found.body[0]
        del text[written.lineno - first:written.end_lineno - first + 1]
    return code_lines("\n".join(text), "#")


def main():
    examples = pathlib.Path(sys.argv[1]) / "examples"
    tutorials = pathlib.Path(sys.argv[2]) / "python/tutorials" if len(sys.argv) > 2 else None
    total, others = 0, 0
    print("| kernel | lines | contract | Helion's | lines | Triton's lines |\n|---|---|---|---|---|---|")
    for name, other in PAIRS:
        (lines, contract), theirs = lines_of_kernel(name), lines_of_function(examples, other)
        total, others = total + lines, others + theirs
        in_triton = sum(lines_of_function(tutorials, one) for one in TUTORIALS.get(name, [])) if tutorials else 0
        print(f"| `{name}` | {lines} | {contract} | `{other}` | {theirs} | {in_triton or '–'} |")
    print(f"| all | {total} | | | {others} | |")


if __name__ == "__main__":
    main()
