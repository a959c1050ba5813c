#include <doctest/doctest.h>

#include <fmt/format.h>

#include <string>

#include "sema/dump_checked.h"
#include "sema/walk/state.h"
#include "sema_text.h"
#include "syntax_corpus.h"

namespace kdl::sema {
namespace {

/// Returns a kernel with this body and a few parameters.
std::string Kernel(std::string_view body) {
  return fmt::format(
      "kernel k<B: int = 16>(x: in f32[M, N], h: in f16[N], n: in i32[M], y: out f32[M, N]) {{\n"
      "spmd for i in M by B, j in N by B {{\n{}\n}}\n}}\n",
      body);
}

TEST_CASE("matmul and softmax are accepted as the language page shows them") {
  Checked matmul(syntax::kMatmul);
  CHECK(matmul.Rendered() == "");
  CHECK(matmul.module.functions.size() == 3);
  CHECK(matmul.InfoOf("matmul.bf16", "dot(a[i, k], b[k, j] over k)").reduce->in_place);
  CHECK(ToString(matmul.InfoOf("matmul.bf16", "c[i, j]").type) == "f64[i, j]");
  Checked softmax(syntax::kSoftmax);
  CHECK(softmax.Rendered() == "");
  CHECK(softmax.InfoOf("softmax", "exp(m - z)").callee->InstanceName() == "std::exp_f32");
}

TEST_CASE("only the library functions that are used are checked and included") {
  Checked one("fn f(x: f64) -> f64 { return exp(x); }");
  CHECK(one.Errors() == "");
  REQUIRE(one.module.functions.size() == 3);
  CHECK(one.module.functions[1]->InstanceName() == "std::exp_f64");
  CHECK(one.module.functions[2]->InstanceName() == "std::helper");
  CHECK(one.module.functions[2]->imported);
}

TEST_CASE("names of the library do not conflict with the user's names") {
  Checked one(
      "fn helper(x: f64) -> f64 { return exp(x); }\n"
      "fn exp_f64(x: f64) -> f64 { return helper(x); }");
  CHECK(one.Rendered() == "");
  REQUIRE(one.module.functions.size() == 4);
  CHECK(one.InfoOf("helper", "exp(x)").callee->imported);
  CHECK_FALSE(one.InfoOf("exp_f64", "helper(x)").callee->imported);
}

TEST_CASE("integer divisions of literals do not become floats") {
  Checked one(
      "const HALF = 1 / 2;\n"
      "kernel k<B: int>(x: in f32[N], y: out f32[N]) { spmd for i in N by 4 {\n"
      "y[i] = x[i] * (1 / 2);\ny[i] = x[i] * HALF;\ny[i] = x[i] + B / 2;\n"
      "y[i] = x[i] * (4 / 2) + (1 / 2) as f32 + (B / 2) as f32;\n} }");
  CHECK(one.Errors() == "3:16 E0319, 4:15 E0319, 5:15 E0319");
}

TEST_CASE("a mistake is reported once, without follow-up errors") {
  Checked one(
      Kernel("let t = undeclared; let u = t + 1.0; y[i, j] = u * t; let v = u as i32;"
             "y[v, j] = t; if t > 0.0 { y[i, j] = max(t, 1) + sum(t over j); }"));
  CHECK(one.Errors() == "3:9 E0302");
}

TEST_CASE("many mistakes are reported in the order of the text") {
  Checked one(
      "kernel b(x: in f32[M]) { let t = a; }\nkernel c(x: in f33[M]) { let t = b2; }\n"
      "const C = missing;\n");
  CHECK(one.Errors() == "1:34 E0302, 2:16 E0314, 2:34 E0302, 3:11 E0302");
}

TEST_CASE("an error that only some types cause names these types") {
  Checked some(
      "kernel k<T: f16 | f32 | f64>(x: in T[M], y: out f32[M]) {\n"
      "spmd for i in M by 4 { y[i] = x[i]; }\n}");
  CHECK(some.Rendered().find("with T = f16; T = f64") != std::string::npos);
  Checked all(
      "kernel k<T: f16 | f32>(x: in T[M], y: out T[M]) {\n"
      "spmd for i in M by 4 { y[i] = z[i]; }\n}");
  CHECK(all.Errors() == "2:31 E0302");
  CHECK(all.Rendered().find("with T") == std::string::npos);
}

TEST_CASE("literals take the type of their context") {
  Checked one(
      Kernel("let a = h[j] * 0.1; let b = n[i] + 7; let c = x[i, j] + 3;"
             "let d = 2.5; let e = B * 2; let f: i64 = -B;"));
  CHECK(one.Errors() == "");
  CHECK(one.InfoOf("k", "0.1").constant == Constant{Scalar::F16, 0x2e66});
  CHECK(one.InfoOf("k", "7").constant == Constant{Scalar::I32, 7});
  CHECK(one.InfoOf("k", "3").constant == Constant{Scalar::F32, 0x40400000});
  CHECK(one.Find("k", "d").type.scalar == Scalar::F32);
  CHECK(one.Find("k", "e").type.scalar == Scalar::I32);
  CHECK(ToString(one.InfoOf("k", "B * 2").size) == "(B*2)");
  CHECK(one.Find("k", "f").type.scalar == Scalar::I64);
}

TEST_CASE("an index is a sum of ranges times sizes") {
  Checked one(Kernel("let a = x[2*i + B*j - 3, j + 0]; let b = x[n[i], N - 1 - j];"));
  CHECK(one.Errors() == "");
  const IndexInfo& a = *one.InfoOf("k", "x[2*i + B*j - 3, j + 0]").index;
  REQUIRE(a.dims[0].terms.size() == 2);
  CHECK(a.dims[0].terms[0].range == &one.Find("k", "i"));
  CHECK(IsConstant(a.dims[0].terms[0].coefficient, 2));
  CHECK(ToString(a.dims[0].terms[1].coefficient) == "B");
  CHECK(IsConstant(a.dims[0].offset, -3));
  CHECK(IsConstant(a.dims[1].offset, 0));
  const IndexInfo& b = *one.InfoOf("k", "x[n[i], N - 1 - j]").index;
  CHECK(b.dims[0].terms[0].value != nullptr);
  CHECK(IsConstant(b.dims[1].terms[0].coefficient, -1));
  CHECK(ToString(one.InfoOf("k", "x[n[i], N - 1 - j]").type) == "f32[i, j]");
}

TEST_CASE("a dot into a var with two ranges or more adds in sequential order") {
  Checked one(
      "kernel mm(a: in f32[M, K], b: in f32[K, N], y: out f32[M, N]) {\n"
      "spmd for i in M by 4, j in N by 4 {\n"
      "var v: f32[i, j] = 0; var w: f32[i] = 0;\n"
      "for k in K by 4 {\n"
      "v += dot(a[i, k], b[k, j] over k);\n"
      "v = v + dot(b[k, j], a[i, k] over k);\n"
      "w += dot(a[i, k], b[k, 0] over k);\n"
      "v += sum(a[i, k] over k);\n"
      "} y[i, j] = v + w; } }");
  CHECK(one.Errors() == "");
  CHECK(one.InfoOf("mm", "dot(a[i, k], b[k, j] over k)").reduce->in_place);
  CHECK_FALSE(one.InfoOf("mm", "dot(b[k, j], a[i, k] over k)").reduce->in_place);
  CHECK_FALSE(one.InfoOf("mm", "dot(a[i, k], b[k, 0] over k)").reduce->in_place);
  CHECK_FALSE(one.InfoOf("mm", "sum(a[i, k] over k)").reduce->in_place);
}

TEST_CASE("sizes are derived from inputs if there are any") {
  Checked one("kernel k(c: out f32[M, OUT], a: in f32[K, M]) where OUT == 2*K, R == M + K {}");
  CHECK(one.Errors() == "");
  const std::vector<DimInfo>& dims = one.Function("k").dims;
  REQUIRE(dims.size() == 3);
  CHECK(dims[0].entity->name.text() == "M");
  CHECK(dims[0].param == 1);
  CHECK(dims[0].dim == 1);
  CHECK_FALSE(dims[0].only_out);
  CHECK(dims[1].only_out);
  const std::vector<WhereInfo>& where = one.Function("k").where;
  CHECK(where.size() == 2);  // R is a name for M + K, which is only checked not to be negative
}

TEST_CASE("integer parameters keep their values, choices and -D options") {
  std::string_view text =
      "kernel k<A: int = auto, D: int, S: int in {1, 2} = 1>(x: in f32[D]) {}\n";
  Checked plain(text);
  const std::vector<IntGenericInfo>& generics = plain.Function("k").generics;
  CHECK(generics[0].is_auto);
  CHECK(generics[1].in_type);
  CHECK(generics[1].values.empty());
  CHECK(generics[2].values == std::vector<int64_t>{1});
  Checked defined(text, {{"A", {"8"}}, {"D", {"64", "128"}}, {"S", {"2"}}});
  CHECK(defined.Errors() == "");
  CHECK_FALSE(defined.Function("k").generics[0].is_auto);
  CHECK(defined.Function("k").generics[1].values == std::vector<int64_t>{64, 128});
  CHECK(defined.Function("k").generics[2].values == std::vector<int64_t>{2});
}

TEST_CASE("a launch binds the kernel's sizes and finds the instance") {
  Checked one(
      "kernel k<T: f16 | f32, D: int>(a: in T[M, D], b: in T[D], y: out T[M]) {}\n"
      "program p(x: in f32[R, 64], v: in f32[V], o: out f32[R]) { spmd k(x, v, o); }");
  CHECK(one.Rendered() == "");
  const CheckedFunction& program = one.Function("p");
  const LaunchInfo* launch = nullptr;
  for (const auto& [stmt, info] : program.stmts) {
    if (info.launch != nullptr) launch = info.launch;
  }
  REQUIRE(launch != nullptr);
  CHECK(launch->kernel->InstanceName() == "k.f32");
  REQUIRE(launch->dims.size() == 1);
  CHECK(ToString(launch->dims[0]) == "R");
  REQUIRE(launch->generics.size() == 1);
  CHECK(IsConstant(launch->generics[0].value, 64));
  REQUIRE(launch->checks.size() == 1);
  CHECK(ToString(launch->checks[0].actual) == "V");
  CHECK(launch->core_num == nullptr);
}

TEST_CASE("the dump shows what is known, with one expression on each line") {
  Checked one("kernel k(x: in f32[N], y: out f32[N]) { y[core_id] = x[0] + 1.0; }");
  CHECK(DumpChecked(one.module, one.sources) ==
        "k\n"
        "  N is a size: i64\n"
        "  x is a tensor: f32[N]\n"
        "  y is a tensor: f32[N]\n"
        "  1:41 y[core_id]: f32 at y[(core_id)]\n"
        "  1:43 core_id: i64\n"
        "  1:54 x[0]: f32 at x[0]\n"
        "  1:54 x[0] + 1.0: f32\n"
        "  1:56 0: i64 = 0x0\n"
        "  1:61 1.0: f32 = 0x3f800000\n");
}

TEST_CASE("a file with a thousand kernels is checked in one pass") {
  std::string text;
  for (int i = 0; i < 1000; ++i) {
    text += fmt::format(
        "kernel k{}(x: in f32[N], y: out f32[N]) {{\n"
        "spmd for i in N by 16 {{ let t = x[i] * 2.0; y[i] = exp(t) + t; }}\n}}\n",
        i);
  }
  Checked one(text);
  CHECK(one.Errors() == "");
  CHECK(one.module.functions.size() == 1001);
}

TEST_CASE("checking stops early in a file with very many errors") {
  std::string kernels;
  for (int i = 0; i < 5000; ++i) {
    kernels += fmt::format("kernel k{}(x: in f32[N]) {{ let t = missing; }}\n", i);
  }
  Checked many_kernels(kernels);
  CHECK(many_kernels.diagnostics.error_count() == kMaxErrors + 2);
  CHECK(many_kernels.Errors().ends_with("202:8 E0309"));
  std::string body = "kernel k(x: in f32[N]) {\n";
  for (int i = 0; i < 5000; ++i) body += fmt::format("let t{} = missing{};\n", i, i);
  Checked one_kernel(body + "}");
  CHECK(one_kernel.diagnostics.error_count() == kMaxErrors + 2);
  CHECK(one_kernel.Errors().ends_with("203:1 E0309"));
}

TEST_CASE("deeply nested expressions are checked") {
  std::string sum = "x[i, j]";
  for (int i = 0; i < 990; ++i) sum += " + 1.0";
  std::string index = "i";
  for (int i = 0; i < 980; ++i) index += " + 1";
  Checked one(Kernel(fmt::format("y[i, j] = {}; let a = x[{}, j];", sum, index)));
  CHECK(one.Errors() == "");
}

}  // namespace
}  // namespace kdl::sema
