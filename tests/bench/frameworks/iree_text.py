"""Writes a row's work as a program for IREE, in the ops of linalg."""


def tensor(shape, dtype):
    return f"tensor<{'x'.join(str(size) for size in shape)}x{dtype}>"


def filled(type_, dtype, value="0.0"):
    return f"""  %v = arith.constant {"0" if dtype == "i32" else value} : {dtype}
  %e = tensor.empty() : {type_}
  %o = linalg.fill ins(%v : {dtype}) outs(%e : {type_}) -> {type_}
"""


def product(row, types, out):
    op = {"product": "matmul", "matvec": "matvec"}[row.work]
    names = ", ".join(f"%{name}" for name in list(row.shapes)[:-1])
    return filled(out, row.out_dtype) + f"  %r = linalg.{op} ins({names} : {', '.join(types)}) outs(%o : {out}) -> {out}\n"


def summed(row, types, out):
    axis = {"row_sum": 1, "column_sum": 0}[row.work]
    return filled(out, "f32") + f"""  %r = linalg.reduce ins(%x : {types[0]}) outs(%o : {out}) dimensions = [{axis}]
    (%in: f32, %sum: f32) {{
      %s = arith.addf %in, %sum : f32
      linalg.yield %s : f32
    }}
"""


def softmax(row, types, out):
    return f"""  %e = tensor.empty() : {out}
  %r = linalg.softmax dimension(1) ins(%x : {types[0]}) outs(%e : {out}) -> {out}
"""


BODIES = {"product": product, "matvec": product, "row_sum": summed, "column_sum": summed, "softmax": softmax}


def program(row):
    """Returns the program, or None if the row's kind of work is not supported."""
    if row.work not in BODIES:
        return None
    *inputs, output = row.shapes
    dtype = row.dtype
    types = [tensor(row.shapes[name], dtype) for name in inputs]
    out = tensor(row.shapes[output], row.out_dtype)
    parameters = ", ".join(f"%{name}: {type_}" for name, type_ in zip(inputs, types))
    return f"func.func @main({parameters}) -> {out} {{\n{BODIES[row.work](row, types, out)}  return %r : {out}\n}}\n"
