#include <doctest/doctest.h>

#include "ir/builder.h"
#include "ir/op_kind.h"
#include "ir/verify/verifier.h"
#include "ir_text.h"

namespace kdl::ir {

namespace {

/// Returns a module that contains the ops under test. In it, %t is an f32 tile over i, %u is an f32 tile over
/// i and j, and the blocks of both axes are in scope.
std::string Around(std::string_view ops) {
  return R"(fn @twice (%v: f32) -> f32 {
  %w = add %v, %v : f32
  return %w
}
kernel @k dims(%M, %N) (%x: tensor<f32,[M,N]> inout, %h: tensor<f16,[M]> in, %f: f32, %n: i32, %b: bool) {
  axis i = M by 8
  axis j = N by 8
  axis k = N by 4
  %zero = const 0 : i64
  spmd (%i: block<i> in %zero .. %M, %j: block<j> in %zero .. %N) {distribute = static} {
    %t = broadcast %f : tile<f32; i>
    %u = broadcast %f : tile<f32; i j>
)" + std::string(ops) +
         "\n    yield\n  }\n  return\n}\n";
}

void CheckFault(std::string_view ops, std::string_view message) {
  ReadText read(Around(ops));
  CHECK_MESSAGE(!read.module, ops);
  std::string errors = read.Errors();
  CHECK_MESSAGE(errors.find(message) != std::string::npos, errors);
  CHECK_MESSAGE(errors.find("[E0211]") != std::string::npos, errors);
}

void CheckSound(std::string_view ops) {
  ReadText read(Around(ops));
  CHECK_MESSAGE(read.module, read.Errors());
}

}  // namespace

TEST_CASE("valid ops pass") {
  CheckSound("%r = add %t, %u : tile<f32; i j>");
  CheckSound("%r = cast %t : tile<i8; i>");
  CheckSound("%c = lt %t, %f : tile<bool; i>\n%r = select %c, %f, %u : tile<f32; i j>");
  CheckSound("%r = reduce sum %u over j, i {acc = f32, order = sequential} : f32");
  CheckSound(
      "%r = contraction %u, %t into %t over j {acc = f32, order = sequential} : tile<f32; i>");
  CheckSound("%r = call @twice(%u) : tile<f32; i j>");
  CheckSound("%r = load %x[%n, %i + %j] else %f {bounds = else} : tile<f32; i j>");
}

TEST_CASE("a dynamically scheduled loop counts from 0 in steps of 1 and has its own counter") {
  const std::string one = "%one = const 1 : i64\n%two = const 2 : i64\n";
  const std::string dynamic_counter =
      "loop %q in %zero .. %M step %one {dynamic_counter = 0} {\nyield\n}\n";
  CheckSound(one + dynamic_counter +
             "loop %r in %zero .. %M step %one {dynamic_counter = 1} {\nyield\n}");
  CheckFault(one + "loop %q in %one .. %M step %one {dynamic_counter = 0} {\nyield\n}",
             "a dynamically scheduled loop must start at 0 and have step 1");
  CheckFault(one + "loop %q in %zero .. %M step %two {dynamic_counter = 0} {\nyield\n}",
             "a dynamically scheduled loop must start at 0 and have step 1");
  CheckFault(one + "loop %q in %zero .. %M step %N {dynamic_counter = 0} {\nyield\n}",
             "a dynamically scheduled loop must start at 0 and have step 1");
  CheckFault(one +
                 "%s = loop %q in %zero .. %M step %one carry(%c = %f) {dynamic_counter = 0} "
                 "{\nyield %c\n} : f32",
             "a dynamically scheduled loop cannot carry values");
  CheckFault(
      one + dynamic_counter + "loop %r in %zero .. %M step %one {dynamic_counter = 0} {\nyield\n}",
      "uses dynamic counter 0, as another loop does");
  CheckFault(one + "loop %q in %zero .. %M step %one {dynamic_counter = 1} {\nyield\n}",
             "uses dynamic counter 1, but the kernel has only 1");
  CheckFault(one +
                 "loop %q in %zero .. %M step %one {dynamic_counter = 0} {\n"
                 "loop %r in %zero .. %M step %one {dynamic_counter = 1} {\nyield\n}\nyield\n}",
             "is inside another dynamically scheduled loop");
}

TEST_CASE("elementwise ops require one scalar type and the union of the axes") {
  CheckFault("%r = add %f, %n : f32", "its operands are of types f32 and i32");
  CheckFault("%r = add %t, %u : tile<f32; i>", "not the union");
  CheckFault("%r = add %t, %t : tile<f32; i j>", "not the union");
  CheckFault("%r = add %t, %t : tile<i32; i>", "the result is i32, not f32");
  CheckFault("%r = lt %t, %t : tile<f32; i>", "the result is f32, not bool");
  CheckFault("%r = select %f, %f, %f : f32", "the condition is not a bool");
  CheckFault("%r = and %f, %f : f32", "is not defined on f32");
  CheckFault("%r = fma %n, %n, %n : i32", "is not defined on i32");
  CheckFault("%r = to_bits %f : i64", "is not defined on f32");
  CheckFault("%r = broadcast %u : tile<f32; i>", "does not have an axis");
  CheckFault("%r = neg %i : f32", "is not a scalar or tile");
  CheckFault("%r = neg %x : f32", "is not a scalar or tile");
}

TEST_CASE("a tile may only be used where a block of each axis is in scope") {
  CheckFault("%r = broadcast %f : tile<f32; k>",
             "a tile over 'k', but no block of this axis is in scope");
  CheckFault(
      "for %k: block<k> in %zero .. %N {\n%v = iota %k : tile<i64; k>\nyield\n}\n%r = cast %v : "
      "tile<f32; k>",
      "operand 1 is not defined in scope");
  CheckSound("for %k: block<k> in %zero .. %N {\n%v = iota %k : tile<i64; k>\nyield\n}");
  CheckFault("for %q: block<i> in %zero .. %N {\nyield\n}", "a second block of 'i' in scope");
}

TEST_CASE("calls, blocks and constants") {
  CheckFault("%r = call @k(%f) : f32", "'k' is not a fn of the module");
  CheckFault("%r = call @nowhere(%f) : f32", "'nowhere' is not a fn of the module");
  CheckFault("%r = call @twice(%f, %f) : f32", "2 arguments are given; 'twice' has 1");
  CheckFault("%r = call @twice(%n) : f32", "argument 1 does not have element type f32");
  CheckFault("%r = call @twice(%t) : f32",
             "not those of the fn's result and those that the call maps over");
  CheckFault("%r = call @twice(%t) : tile<f64; i>",
             "the result does not have the result type of 'twice'");
  CheckFault("%r = block_start %f : i64", "the operand is not a block");
  CheckFault("%r = block_start %i : i32", "the result is not an i64");
  CheckFault("%r = iota %i : tile<i64; j>", "over the block's axis");
  CheckFault("%r = make_block %zero, %n, %zero : block<i>", "not an i64");
  CheckFault("%r = const 1 : block<i>", "the result is not a scalar");
}

TEST_CASE("accesses") {
  CheckFault("%r = load %x[%i] {bounds = clip} : tile<f32; i>",
             "the number of indices is 1, but the number of dimensions is 2");
  CheckFault("%r = load %f[%i] {bounds = clip} : tile<f32; i>", "the operand is not a tensor");
  CheckFault("%r = load %x[%i, %f] {bounds = clip} : tile<f32; i>",
             "neither a block nor an integer");
  CheckFault("%r = load %x[%i, 0] {bounds = else} : tile<f32; i>",
             "bounds mode 'else' without a value");
  CheckFault("%r = load %x[%i, 0] else %f {bounds = clip} : tile<f32; i>",
             "but the bounds mode is not 'else'");
  CheckFault("%r = load %h[%i] else %f {bounds = else} : tile<f16; i>",
             "does not have the element type of the tensor");
  CheckFault("%r = load %x[%i, %j] {bounds = clip} : tile<f32; i>",
             "the axes of the result are not");
  CheckFault("%r = load %x[%i, %j] {bounds = clip} : tile<f64; i j>",
             "the element type of the result is not f32");
  CheckFault("%r = load %x[%i, 0] where %t {bounds = clip} : tile<f32; i>",
             "the mask is not a bool");
  CheckFault("%r = load %x[%i, Q*%n] {bounds = clip} : tile<f32; i>", "'Q' is neither a size name");
  CheckFault("store %u to %x[%i, 0] {bounds = clip}", "the value has an axis that no index has");
  CheckFault("store %n to %x[%i, 0] {bounds = clip}",
             "does not have the element type of the tensor");
  CheckFault("store %f to %x[%i, 0] {bounds = else}", "cannot have a value for elements outside");
}

TEST_CASE("reductions") {
  CheckFault("%r = reduce sum %t over j {acc = f32, order = sequential} : tile<f32; i>",
             "no operand has a reduced axis");
  CheckFault("%r = reduce sum %u over j, j {acc = f32, order = sequential} : tile<f32; i>",
             "reduced twice");
  CheckFault("%r = reduce sum %u over j {acc = f64, order = sequential} : tile<f64; i>",
             "cannot reduce f32 with an accumulator of f64");
  CheckFault("%r = reduce any %u over j {acc = f32, order = sequential} : tile<f32; i>",
             "not defined on f32");
  CheckFault("%r = reduce sum %u over j {acc = f32, order = sequential} : f32",
             "all axes that are not reduced");
  CheckFault("%r = contraction %u, %u into %f over j {acc = f32, order = sequential} : f32",
             "the axes that are not reduced");
  CheckFault(
      "%r = contraction %u, %t into %u over j {acc = f32, order = sequential} : tile<f32; i j>",
      "the axes that are not reduced");
  CheckFault(
      "%r = contraction %u, %t into %t over j {acc = f64, order = sequential} : tile<f32; i>",
      "cannot multiply f32 with an accumulator of f64");
}

TEST_CASE("control flow") {
  CheckFault("%r = for %k: block<k> in %zero .. %N carry(%s = %f) {\nyield\n} : f32",
             "yielded values");
  CheckFault("%r = for %k: block<k> in %zero .. %N carry(%s = %f) {\nyield %s\n} : f64",
             "the types of results");
  CheckFault("for %k: i64 in %zero .. %N {\nyield\n}", "the first parameter is not a block");
  CheckFault("loop %q in %zero .. %N step %n {\nyield\n}", "a bound is not an i64");
  CheckFault("loop %q in %zero .. %N step %N {unroll = 65} {\nyield\n}",
             "'unroll' is not a number from 1 to 64");
  CheckFault("%r = if %f {\nyield %f\n} else {\nyield %f\n} : f32", "not a scalar bool");
  CheckFault("%r = if %b {\nyield %n\n} else {\nyield %f\n} : f32", "the types of yielded values");
  CheckSound("if %b {\n} else {\nyield\n}");
  CheckFault("if %b {\nreturn\n} else {\nyield\n}", "is not at the end of a function");
  CheckFault("spmd (%q: i64 in %zero .. %N) {distribute = static} {\nyield\n}",
             "is inside another spmd");
  CheckFault("%r = elementwise (%p in %i, %q in %i) {\nyield %f\n} : tile<f32; i>",
             "two blocks have the same axis");
  CheckFault("%r = elementwise (%p in %i) {\nyield %t\n} : tile<f32; i>",
             "that the yielded value and the blocks determine");
  CheckFault("%r = element %u at (%zero) : f32",
             "the number of indices is 1, but the number of axes is 2");
  CheckFault("%e = alloc \"h\" on @cpu : tensor<f32,[M]>", "outside a program");
}

TEST_CASE("scratch") {
  CheckFault("%s = buffer_new : f32", "not a buffer");
  CheckFault("%s = buffer_new : buffer<f32,[99999999,99999999]>", "too large");
  CheckFault("%s = buffer_new : buffer<f32,[4]>\n%r = buffer_load %s[%zero, %zero] : f32",
             "the number of indices is 2, but the number of dimensions is 1");
  CheckFault("%s = buffer_new : buffer<f32,[4]>\nbuffer_store %n to %s[%zero]",
             "does not have the element type of the buffer");
}

TEST_CASE(
    "elementwise ops map lanes, whose number is the same in all vectors; scalars apply to all") {
  CheckSound("%v = splat %f : vec<f32 x 3>\n%r = add %v, %v : vec<f32 x 3>");
  CheckSound("%v = splat %f : vec<f32 x 8>\n%r = fma %f, %v, %f : vec<f32 x 8>");
  CheckSound("%v = splat %f : vec<f32 x 8>\n%r = select %b, %v, %f : vec<f32 x 8>");
  CheckSound("%v = splat %b : vec<bool x 8>\n%r = select %v, %f, %f : vec<f32 x 8>");
  CheckSound("%v = splat %f : vec<f32 x 8>\n%r = lt %f, %v : vec<bool x 8>");
  CheckFault("%r = add %f, %f : vec<f32 x 8>", "no operand is a vector");
  CheckFault("%v = splat %f : vec<f32 x 8>\n%r = add %v, %v : f32", "the result is not a vector");
  CheckFault("%v = splat %f : vec<f32 x 8>\n%r = add %v, %v : vec<f32 x 4>",
             "vectors of 8 and 4 lanes");
  CheckFault("%v = splat %f : vec<f32 x 8>\n%r = add %v, %t : vec<f32 x 8>",
             "neither scalar nor vector");
  CheckFault("%v = splat %f : vec<f32 x 8>\n%r = add %v, %n : vec<f32 x 8>",
             "its operands are of types f32 and i32");
  CheckFault("%v = splat %f : vec<f32 x 8>\n%r = add %v, %v : vec<f64 x 8>",
             "the result is f64, not f32");
  CheckFault("%v = splat %f : vec<f32 x 8>\n%r = snapshot %v : vec<f32 x 8>",
             "its operands must be tiles, not vectors");
  CheckFault("%v = splat %f : vec<f32 x 8>\n%r = broadcast %v : vec<f32 x 8>",
             "its operands must be tiles, not vectors");
  CheckFault("%v = splat %f : vec<f32 x 8>\n%r = call @twice(%v) : vec<f32 x 8>",
             "argument 1 is of a different kind");
  CheckFault("%v = splat %f : vec<f32 x 8>\n%r = element %v at (%zero) : f32", "is not a tile");
  CheckFault("%r = const 1.0 : vec<f32 x 8>", "the result is not a scalar");
}

TEST_CASE("ops that make vectors and split them") {
  CheckSound("%r = lane_mask %zero : vec<bool x 5>\n%q = lane_numbers : vec<i64 x 5>");
  CheckFault("%r = splat %f : f32", "not a vector of the operand's type");
  CheckFault("%r = splat %f : vec<f64 x 8>", "not a vector of the operand's type");
  CheckFault("%r = splat %t : vec<f32 x 8>", "not a vector of the operand's type");
  CheckFault("%v = splat %f : vec<f32 x 8>\n%r = splat %v : vec<f32 x 8>",
             "not a vector of the operand's type");
  CheckFault("%r = lane_mask %n : vec<bool x 8>", "not an i64");
  CheckFault("%r = lane_mask %zero : vec<i8 x 8>", "not a vector of bools");
  CheckFault("%r = lane_mask %zero : bool", "not a vector of bools");
  CheckFault("%r = lane_numbers : vec<i32 x 8>", "not a vector of i64");
  CheckFault("%r = lane_numbers : i64", "not a vector of i64");
  CheckFault("%v = splat %f : vec<f32 x 8>\n%r = half 2 of %v : vec<f32 x 4>",
             "there is no half 2; use 0 or 1");
  CheckFault("%v = splat %f : vec<f32 x 8>\n%r = half 0 of %v : vec<f32 x 8>", "not half");
  CheckFault("%v = splat %f : vec<f32 x 8>\n%r = half 0 of %v : vec<f16 x 4>", "not half");
  CheckFault("%v = splat %f : vec<f32 x 2>\n%r = half 0 of %v : tile<f32; i>", "not half");
  CheckFault("%v = splat %f : vec<f32 x 3>\n%r = half 0 of %v : f32", "has no halves");
  CheckFault("%r = half 0 of %f : f32", "has no halves");
}

TEST_CASE("a pick takes lanes that exist") {
  const std::string four = "%v = splat %f : vec<f32 x 4>\n";
  CheckSound(four + "%r = pick [7, 0, 4] of %v, %v : vec<f32 x 3>");
  CheckFault(four + "%r = pick [8, 0] of %v, %v : vec<f32 x 2>", "not among the 8 lanes");
  CheckFault(four + "%r = pick [0, 1] of %v : vec<f32 x 3>", "not a vector of 2 lanes");
  CheckFault(four + "%r = pick [0, 1] of %v : vec<f64 x 2>", "not a vector of 2 lanes");
  CheckFault(four + "%r = pick [0, 1] of %v, %f : vec<f32 x 2>", "not vectors of one type");
}

TEST_CASE("transpositions are square, with a power of two of rows") {
  const std::string two = "%v = splat %f : vec<f32 x 2>\n";
  CheckSound(two + "%a, %c = transpose %v, %v : vec<f32 x 2>, vec<f32 x 2>");
  CheckFault(two + "%a = transpose %v, %v : vec<f32 x 2>", "requires 2 rows and results");
  CheckFault(two + "%a, %c = transpose %v : vec<f32 x 2>, vec<f32 x 2>",
             "requires 2 rows and results");
  CheckFault(two + "%a, %c = transpose %v, %v : vec<f32 x 2>, vec<f32 x 4>",
             "have different types");
  CheckFault(two + "%a, %c = transpose %v, %f : vec<f32 x 2>, vec<f32 x 2>",
             "have different types");
  CheckFault("%a = transpose %f : f32", "a row is not a vector");
  CheckSound(two +
             "%p, %q, %r, %s = transpose %v, %v, %v, %v, %v, %v, %v, %v : vec<f32 x 4>, "
             "vec<f32 x 4>, vec<f32 x 4>, vec<f32 x 4>");
  CheckFault(two +
                 "%p, %q, %r, %s = transpose %v, %v, %v, %v, %v, %v, %v : vec<f32 x 4>, "
                 "vec<f32 x 4>, vec<f32 x 4>, vec<f32 x 4>",
             "requires 4 rows and results");
  CheckFault(
      "%v = splat %f : vec<f32 x 3>\n"
      "%a, %c, %d = transpose %v, %v, %v : vec<f32 x 3>, vec<f32 x 3>, vec<f32 x 3>",
      "3 rows are not a power of two");
}

TEST_CASE("stores past the caches are unmasked vectors, and gaps are a power of two of lanes") {
  const std::string k = "%k = lane_mask %zero : vec<bool x 4>\n";
  const std::string v = "%v = splat %f : vec<f32 x 4>\n";
  CheckSound(v + "store %v to %x[%n, %zero] {bounds = proven, cache = past}");
  CheckFault(k + v + "store %v to %x[%n, %zero] where %k {bounds = proven, cache = past}",
             "only a vector without a mask");
  CheckFault("store %f to %x[%n, %zero] {bounds = proven, cache = past}",
             "only a vector without a mask");
  CheckSound("%g = align_gap %x[%n, %zero] {lanes = 4} : i64");
  CheckFault("%g = align_gap %x[%n, %zero] {lanes = 3} : i64", "3 lanes are not a power of two");
  CheckFault("%g = align_gap %x[%n, %zero] {lanes = 0} : i64", "0 lanes are not a power of two");
  CheckFault("%g = align_gap %x[%n, %zero] {lanes = 4} : i32", "the result is not an i64");
  CheckFault("%g = align_gap %x[%n] {lanes = 4} : i64",
             "the number of indices is 1, but the number of dimensions is 2");
}

TEST_CASE("accesses of vectors are proven, with scalar indices and a mask of equal length") {
  const std::string k = "%k = lane_mask %zero : vec<bool x 4>\n";
  const std::string v = "%v = splat %f : vec<f32 x 4>\n";
  CheckSound(k + "%r = load %x[%n, %zero + 1] where %k {bounds = proven} : vec<f32 x 4>");
  CheckSound(k + v + "store %v to %x[%n, %zero] where %k {bounds = proven}");
  CheckFault("%r = load %x[%n, %zero] {bounds = clip} : vec<f32 x 4>", "is not 'proven'");
  CheckFault("%r = load %x[%n, %zero] {bounds = guard} : vec<f32 x 4>", "is not 'proven'");
  CheckFault(v + "store %v to %x[%n, %zero] {bounds = clip}", "is not 'proven'");
  CheckFault("%r = load %x[%n, %zero] else %f {bounds = else} : vec<f32 x 4>",
             "a value for elements outside");
  CheckFault("%r = load %x[%i, %zero] {bounds = proven} : vec<f32 x 4>", "is not a scalar");
  CheckFault(
      "%w = lane_numbers : vec<i64 x 4>\n"
      "%r = load %x[%n, %w] {bounds = proven} : vec<f32 x 4>",
      "neither a block nor an integer");
  CheckFault("%r = load %x[%n, %zero] {bounds = proven} : vec<f64 x 4>",
             "does not have the element type of the tensor");
  CheckFault(v + "store %v to %h[%n] {bounds = proven}",
             "does not have the element type of the tensor");
  CheckFault(k + "%r = load %x[%n, %zero] where %k {bounds = proven} : vec<f32 x 8>",
             "the mask is not a vector of 8 bools");
  CheckFault("%r = load %x[%n, %zero] where %b {bounds = proven} : vec<f32 x 4>",
             "the mask is not a vector of 4 bools");
  CheckFault(k + "%r = load %x[%n, %zero] where %k {bounds = proven} : f32",
             "the mask is not a bool");
  CheckFault(k + "store %f to %x[%n, %zero] where %k {bounds = proven}", "the mask is not a bool");
}

TEST_CASE("vectors in scratch") {
  const std::string s =
      "%s = buffer_new : buffer<f32,[2,8]>\n%v = splat %f : vec<f32 x 4>\n"
      "%k = lane_mask %zero : vec<bool x 4>\n";
  CheckSound(s +
             "buffer_store %v to %s[%zero, %zero] where %k\n"
             "%r = buffer_load %s[%zero, %zero] where %k : vec<f32 x 4>");
  CheckFault(s + "%r = buffer_load %s[%zero] : vec<f32 x 4>",
             "the number of indices is 1, but the number of dimensions is 2");
  CheckFault(s + "%r = buffer_load %s[%zero, %zero] : vec<f64 x 4>",
             "does not have the element type of the buffer");
  CheckFault(s + "%r = buffer_load %s[%zero, %zero] where %k : f32",
             "has a mask, but is not a vector");
  CheckFault(s + "buffer_store %f to %s[%zero, %zero] where %k", "has a mask, but is not a vector");
  CheckFault(s + "%r = buffer_load %s[%zero, %zero] where %k : vec<f32 x 8>",
             "the mask is not a vector of 8 bools");
  CheckFault(s + "buffer_store %v to %s[%zero, %zero] where %b",
             "the mask is not a vector of 4 bools");
  CheckFault("%s = buffer_new : buffer<f32,[]>\n%r = buffer_load %s[] : vec<f32 x 4>",
             "does not have the element type of the buffer");
}

TEST_CASE("loops carry vectors and branches return them, but calls do not accept them") {
  const std::string v = "%v = splat %f : vec<f32 x 4>\n";
  CheckSound(v +
             "%r = loop %q in %zero .. %N step %N carry(%s = %v) {\nyield %v\n} : vec<f32 x 4>");
  CheckSound(v + "%r = if %b {\nyield %v\n} else {\nyield %v\n} : vec<f32 x 4>");
  CheckFault(v + "%r = loop %q in %zero .. %N step %N carry(%s = %v) {\nyield %f\n} : vec<f32 x 4>",
             "yielded values");
  CheckFault(v + "%r = if %b {\nyield %v\n} else {\nyield %v\n} : vec<f32 x 8>", "yielded values");
  CheckFault(v + "%r = elementwise (%p in %i) {\nyield %v\n} : tile<f32; i>",
             "that the yielded value and the blocks determine");
  CheckFault("%k = lane_mask %zero : vec<bool x 4>\nif %k {\nyield\n} else {\nyield\n}",
             "not a scalar bool");
}

TEST_CASE("signatures") {
  auto fault = [](std::string text, std::string_view message) {
    ReadText read(std::move(text));
    CHECK(!read.module);
    CHECK_MESSAGE(read.Errors().find(message) != std::string::npos, read.Errors());
  };
  fault("kernel @k (%x: tensor<f32,[N]> in) {\n  return\n}\n", "x: 'N' is neither a size name");
  fault("kernel @k dims(%N) (%x: f32 out) {\n  return\n}\n", "a scalar parameter is not `in`");
  fault("kernel @k (%x: vec<f32 x 4>) {\n  return\n}\n",
        "a type that cannot be passed to a kernel or program");
  fault(
      "fn @f (%x: vec<f32 x 4>) -> f32 {\n  %y = half 0 of %x : vec<f32 x 2>\n"
      "  %z = half 0 of %y : f32\n  return %z\n}\n",
      "a type that cannot be passed to a fn");
  fault("fn @f (%x: f32) -> vec<f32 x 4> {\n  %y = splat %x : vec<f32 x 4>\n  return %y\n}\n",
        "neither a scalar nor a tile");
  fault("kernel @k (%x: event) {\n  return\n}\n",
        "a type that cannot be passed to a kernel or program");
  fault("kernel @k () -> f32 {\n  return\n}\n", "only a fn or a contract can have results");
  fault("kernel @k () {\n  axis i\n  return\n}\n", "axis 'i' has no size");
  fault("kernel @k () {\n}\n", "the function does not end with 'return'");
  fault("fn @f (%x: f32) -> f32 {\n  return\n}\n", "the types of the function's results");
  fault("fn @f (%x: f32) -> f32 {\n  %y = call @f(%x) : f32\n  return %y\n}\n",
        "'f' is not defined before its caller");
}

TEST_CASE("use lists and links agree with operands") {
  ReadText read(Around(""));
  REQUIRE(read.module);
  CHECK(Verify(*read.module).empty());
  Op* tile = nullptr;
  Walk(read.module->functions()[1]->body, [&](Op* op) {
    if (op->kind() == OpKind::Broadcast) tile = op;
  });
  // An op that is in no region still counts as a user of its operands.
  Builder nowhere(*read.module);
  nowhere.Unary(OpKind::Neg, tile->result());
  std::vector<std::string> faults = Verify(*read.module);
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].find(
            "@k: `%u = broadcast %f : tile<f32; i j>`: the use list of 'u' has 1 uses") == 0);
}

TEST_CASE("loop level has no tiles, no masks and no unproven accesses") {
  ReadText read(Around("%r = load %x[%i, 0] {bounds = clip} : tile<f32; i>"));
  REQUIRE(read.module);
  std::vector<std::string> faults = VerifyLoopLevel(*read.module->functions()[1]);
  CHECK(faults.size() == 4);
  ReadText loops(R"(kernel @k dims(%N) (%x: tensor<f32,[N]> inout) {
  %0 = const 0 : i64
  loop %n in %0 .. %N step %N {
    check %n in %N {dimension = 0, text = "x[n]"}
    %1 = load %x[%n] {bounds = proven} : f32
    yield
  }
  return
}
)");
  REQUIRE_MESSAGE(loops.module, loops.Errors());
  CHECK(VerifyLoopLevel(*loops.module->functions()[0]).empty());
  ReadText vectors(R"(kernel @k dims(%N) (%x: tensor<f32,[N]> inout) {
  %0 = const 0 : i64
  %1 = lane_mask %N : vec<bool x 4>
  %2 = load %x[%0] where %1 {bounds = proven} : vec<f32 x 4>
  store %2 to %x[%0] where %1 {bounds = proven}
  return
}
)");
  REQUIRE_MESSAGE(vectors.module, vectors.Errors());
  CHECK(VerifyLoopLevel(*vectors.module->functions()[0]).empty());
}

}  // namespace kdl::ir
