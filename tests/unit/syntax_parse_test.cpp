#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "syntax/ambiguity.h"
#include "syntax_corpus.h"
#include "syntax_text.h"

namespace kdl::syntax {

namespace {

/// Returns an expression's tree on one line.
std::string Tree(std::string_view expr) {
  Parsed parsed(fmt::format("const x = {};", expr));
  CHECK(parsed.Errors() == "");
  constexpr std::string_view kBefore = "(module (const x ";
  std::string flat = parsed.Flat();
  REQUIRE(flat.starts_with(kBefore));
  return flat.substr(kBefore.size(), flat.size() - kBefore.size() - 2);
}

/// Checks that the two ways of writing an expression give the same tree.
void CheckSame(std::string_view plain, std::string_view with_parentheses) {
  CAPTURE(plain);
  CHECK(Tree(plain) == Tree(with_parentheses));
}

const FunctionItem& OnlyFunction(const Parsed& parsed) {
  REQUIRE(parsed.result.ok);
  REQUIRE(parsed.result.module->items.size() == 1);
  return As<FunctionItem>(parsed.result.module->items[0]);
}

}  // namespace

TEST_CASE("programs of the language are parsed completely") {
  for (std::string_view text : kCorpus) {
    CAPTURE(text);
    Parsed parsed(text);
    CHECK(parsed.Errors() == "");
    CHECK(parsed.result.ok);
    CHECK(!parsed.result.module->items.empty());
  }
}

TEST_CASE("no text of the language can be parsed in two ways") {
  for (std::string_view text : kCorpus) {
    CAPTURE(text);
    SourceManager sources;
    DiagnosticEngine diagnostics;
    FileId file = sources.Add("t.kdl", std::string(text));
    CHECK(FindAmbiguities(sources, file, diagnostics) == std::vector<std::string>());
  }
}

TEST_CASE("an empty file, or a file of comments, is a module without items") {
  for (std::string_view text : {"", "\n", "// only\n", "/* only */", "\xEF\xBB\xBF", "///\n"}) {
    Parsed parsed(text);
    CHECK(parsed.result.ok);
    CHECK(parsed.Flat() == "(module)");
  }
}

TEST_CASE("operators bind from tightest to loosest") {
  CheckSame("-a as f32", "-(a as f32)");
  CheckSame("-a.start * b", "(-(a.start)) * b");
  CheckSame("!a[i] && b", "(!(a[i])) && b");
  CheckSame("- ! - a", "-(!(-a))");
  CheckSame("a + b * c", "a + (b * c)");
  CheckSame("a - b - c", "(a - b) - c");
  CheckSame("a / b * c % d", "((a / b) * c) % d");
  CheckSame("a << b + c", "a << (b + c)");
  CheckSame("a & b << c", "a & (b << c)");
  CheckSame("a ^ b & c", "a ^ (b & c)");
  CheckSame("a | b ^ c", "a | (b ^ c)");
  CheckSame("a | b == c", "(a | b) == c");
  CheckSame("a == b && c != d", "(a == b) && (c != d)");
  CheckSame("a || b && c", "a || (b && c)");
  CheckSame("if a || b then c + 1 else d + 1", "if (a || b) then (c + 1) else (d + 1)");
  CheckSame("if a then b else if c then d else e", "if a then b else (if c then d else e)");
  CheckSame("a + b to cpu", "(a + b) to cpu");
  CheckSame("a as f32 as i32 * b", "((a as f32) as i32) * b");
  CHECK(Tree("a + b * c") == "(binary + (name a) (binary * (name b) (name c)))");
  CHECK(Tree("- a as f32") == "(unary - (as f32 (name a)))");
}

TEST_CASE("the = of an argument distinguishes a generic call from a comparison") {
  CHECK(Tree("f<A = 1>(x)") == "(call f <A>: (int 1) (name x))");
  CHECK(Tree("f < A && 1 == b") ==
        "(binary && (binary < (name f) (name A)) (binary == (int 1) (name b)))");
  CHECK(Tree("f < (A)") == "(binary < (name f) (name A))");
  CHECK(Tree("f<A = n / 2, B = g<C = 3>(1)>(x) > y") ==
        "(binary > (call f <A>: (binary / (name n) (int 2)) <B>: (call g <C>: (int 3) (int 1)) "
        "(name x)) (name y))");
}

TEST_CASE("indices, calls, reductions and fields keep all their parts") {
  CHECK(Tree("x[n, S*i + r - P else 0]") ==
        "(index (name x) (name n) (binary - (binary + (binary * (name S) (name i)) (name r)) "
        "(name P)) else: (int 0))");
  CHECK(Tree("t[k = e]") == "(index (name t) k =: (name e))");
  CHECK(Tree("dot(x, y over k, l)") == "(reduce dot over k l (name x) (name y))");
  CHECK(Tree("cumsum(x over k reversed exclusive)") ==
        "(reduce cumsum over k reversed exclusive (name x))");
  CHECK(Tree("reduce(x over k with nn.f init 1)") ==
        "(reduce reduce over k (name x) with: (field f (name nn)) init: (int 1))");
  CHECK(Tree("t.0.1") == "(field 1 (field 0 (name t)))");
  CHECK(Tree("t.0") == "(field 0 (name t))");
  CHECK(Tree("q.pop(i, j)[k]") ==
        "(index (call pop receiver: (name q) (name i) (name j)) (name k))");
  CHECK(Tree("random(f32[M, s.0], seed = 1)") ==
        "(call random (type f32 (name M) (field 0 (name s))) seed =: (int 1))");
  CHECK(Tree("target(\"cuda\")[1]") == "(index (call target (text \"cuda\")) (int 1))");
  CHECK(Tree("[(1, 2), (3, 4)]") == "(list (tuple (int 1) (int 2)) (tuple (int 3) (int 4)))");
}

TEST_CASE("literals keep their text and value") {
  Parsed parsed(
      "const a = 1_000; const b = 0xFFFF_FFFF_FFFF_FFFF; const c = 0.1; const d = 1e-400; "
      "const e = 2e3; const f = inf; const g = true; const h = \"a\\n\\t\\\"\\\\é\";");
  REQUIRE(parsed.result.ok);
  const auto& items = parsed.result.module->items;
  auto value = [&](size_t i) { return As<ConstItem>(items[i]).value; };
  CHECK(As<IntLit>(value(0)).value == 1000);
  CHECK(As<IntLit>(value(0)).text == "1_000");
  CHECK(As<IntLit>(value(1)).value == ~uint64_t{0});
  CHECK(As<FloatLit>(value(2)).value == 0.1);
  CHECK(As<FloatLit>(value(2)).text == "0.1");
  CHECK(As<FloatLit>(value(3)).value == 0.0);
  CHECK(As<FloatLit>(value(4)).value == 2000.0);
  CHECK(As<FloatLit>(value(5)).text == "inf");
  CHECK(As<BoolLit>(value(6)).value);
  CHECK(As<StringLit>(value(7)).value == "a\n\t\"\\é");
}

TEST_CASE("contextual keywords are valid names everywhere") {
  std::string text;
  for (std::string_view word :
       {"range",   "stage", "domain",   "pipe",      "device", "test",   "by",
        "step",    "over",  "on",       "to",        "view",   "max",    "min",
        "with",    "init",  "where",    "reduce",    "push",   "expect", "requires",
        "ensures", "pop",   "reversed", "exclusive", "fuse",   "types",  "is"}) {
    text += fmt::format(
        "kernel {0}<{0}: int>({0}: in {0}[{0}]) where {0} == {0} {{\n"
        "  let {0}: {0}[{0}] = {0};\n  {0} = {0} + {0}.{0};\n  {0}[{0}] += {0}({0});\n"
        "  {0}({0}, {0} = {0});\n  {0}.{0}({0});\n  range {0} in {0} max {0};\n"
        "  for {0} in {0} by {0} step {0} {{ }}\n  spmd on {0} {0}({0});\n  spmd {0}({0});\n"
        "  {0} = max({0} over {0}, {0} with {0} init {0});\n  atomic {0} max= {0} where {0};\n"
        "  reduce {0} min= {0};\n  stage {0} {{ }}\n  return {0} to {0};\n}}\n"
        "ensures {{ {0} = {0}; {0} ~ {0}; }}\n",
        word);
  }
  Parsed parsed(text);
  CHECK(parsed.Errors() == "");
  SourceManager sources;
  DiagnosticEngine diagnostics;
  FileId file = sources.Add("t.kdl", text);
  CHECK(FindAmbiguities(sources, file, diagnostics) == std::vector<std::string>());
}

TEST_CASE("doc comments attach to the item below them") {
  Parsed parsed(
      "/// far\n\n/// One.\r\n///\n///   Two. \nexport kernel k() {\n  /// none\n}\n"
      "/// other\n// not doc\nkernel l() { }\n//// not doc\nkernel m() { }\n");
  REQUIRE(parsed.result.ok);
  const auto& items = parsed.result.module->items;
  REQUIRE(items.size() == 3);
  CHECK(items[0]->doc == "One.\n\n  Two.\n");
  CHECK(items[0]->exported);
  CHECK(items[1]->doc == "");
  CHECK(items[2]->doc == "");
}

TEST_CASE("source spans cover the written text") {
  constexpr std::string_view kText = "kernel k(a: in f32[N]) { x = (a + b)[i] as f32 * -c; }";
  Parsed parsed(kText);
  const FunctionItem& kernel = OnlyFunction(parsed);
  auto text = [&](const Node& node) { return parsed.sources.text(node.span); };
  CHECK(text(kernel) == kText);
  CHECK(text(kernel.name) == "k");
  CHECK(text(kernel.params[0]) == "a: in f32[N]");
  CHECK(text(*kernel.params[0].type) == "f32[N]");
  const auto& assign = As<AssignStmt>(kernel.body->stmts[0]);
  CHECK(text(assign) == "x = (a + b)[i] as f32 * -c;");
  const auto& product = As<BinaryExpr>(assign.value);
  CHECK(text(product) == "(a + b)[i] as f32 * -c");
  CHECK(parsed.sources.text(product.op_span) == "*");
  CHECK(text(*product.lhs) == "(a + b)[i] as f32");
  CHECK(text(*As<CastExpr>(product.lhs).operand) == "(a + b)[i]");
  CHECK(text(*product.rhs) == "-c");
}

TEST_CASE("ids are dense: a side table has an entry for each node") {
  Parsed parsed(kTheRest);
  REQUIRE(parsed.result.ok);
  CHECK(parsed.result.module->expr_count > 200);
  CHECK(parsed.result.module->expr_count < 400);
  CHECK(parsed.result.module->stmt_count > 40);
  CHECK(parsed.result.module->stmt_count < 80);
}

TEST_CASE("all kinds of line ends give the same tree") {
  std::string crlf;
  for (char c : kSoftmax) crlf += c == '\n' ? std::string("\r\n") : std::string(1, c);
  CHECK(Parsed(crlf).Flat() == Parsed(kSoftmax).Flat());
}

TEST_CASE("a megabyte of kernels is parsed") {
  std::string text;
  while (text.size() < (size_t{1} << 20)) text += kAttention;
  Parsed parsed(text);
  CHECK(parsed.result.ok);
  CHECK(parsed.result.module->items.size() == text.size() / kAttention.size());
}

}  // namespace kdl::syntax
