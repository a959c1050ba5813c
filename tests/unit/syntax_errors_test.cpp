#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/render.h"
#include "syntax/diagnostics.h"
#include "syntax/limits.h"
#include "syntax_corpus.h"
#include "syntax_text.h"

namespace kdl::syntax {

namespace {

std::string Repeat(std::string_view text, size_t times) {
  std::string out;
  out.reserve(text.size() * times);
  for (size_t i = 0; i < times; ++i) out += text;
  return out;
}

std::string InKernel(std::string_view body) { return fmt::format("kernel k() {{ {} }}", body); }

/// A small, fast, portable random generator.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  size_t Below(size_t n) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<size_t>((state_ >> 33) % n);
  }

 private:
  uint64_t state_;
};

std::string Mutate(std::string text, Random& random) {
  constexpr std::string_view kChunks[] = {
      "(",  ")",    "{",  "}",   "[",     "]",    ";",   ",",     "<",    ">",       "=",
      "~",  ".",    "..", "if ", "else ", "let ", "in ", "spmd ", "for ", "kernel ", "over ",
      "0x", "1.5e", "\"", "/*",  "///",   "@",    "-",   "\0",    "\xC3", "é",       "auto "};
  size_t changes = 1 + random.Below(4);
  for (size_t i = 0; i < changes && !text.empty(); ++i) {
    size_t at = random.Below(text.size());
    switch (random.Below(5)) {
      case 0:
        text.erase(at, 1 + random.Below(12));
        break;
      case 1:
        text.insert(at, kChunks[random.Below(std::size(kChunks))]);
        break;
      case 2:
        text[at] = static_cast<char>(random.Below(256));
        break;
      case 3: {
        size_t from = random.Below(text.size());
        text.insert(at, text.substr(from, random.Below(40)));
        break;
      }
      default:
        text.resize(at);
        break;
    }
  }
  return text;
}

}  // namespace

TEST_CASE("invalid UTF-8 is rejected at its position") {
  using namespace std::string_view_literals;
  CHECK(Parsed("kernel k() {\n \0 }"sv).Errors() == "2:2 E0102");
  CHECK(Parsed("// ok \xC3\xA9\nconst x = \"\xFF\";").Errors() == "2:12 E0103");
  CHECK(Parsed("// \xC0\xAF").Errors() == "1:4 E0103");          // overlong
  CHECK(Parsed("// \xED\xA0\x80").Errors() == "1:4 E0103");      // surrogate
  CHECK(Parsed("// \xF4\x90\x80\x80").Errors() == "1:4 E0103");  // past U+10FFFF
  CHECK(Parsed("// \xE2\x82").Errors() == "1:4 E0103");          // truncated
  CHECK(Parsed("// \xF4\x8F\xBF\xBF \xEF\xBF\xBF \xDF\xBF").Errors() == "");
}

TEST_CASE("a file that is too large is rejected before it is read") {
  CHECK(Parsed(std::string(kMaxBytes + 1, ' ')).Errors() == "1:1 E0101");
  CHECK(Parsed(std::string(kMaxBytes, ' ')).Errors() == "");
  CHECK(Parsed(Repeat("x\n", kMaxTokens + 1)).Errors() ==
        fmt::format("{}:1 E0104", kMaxTokens + 1));
}

TEST_CASE("nesting has a limit, up to which everything works") {
  struct ElementwiseLoop {
    std::string_view before, open, inner, close, after;
  };
  for (const ElementwiseLoop& elementwise :
       {ElementwiseLoop{"x = ", "(", "1", ")", ";"}, ElementwiseLoop{"x = ", "f(", "1", ")", ";"},
        ElementwiseLoop{"x = ", "a[", "1", "]", ";"}, ElementwiseLoop{"x = ", "[", "1", "]", ";"},
        ElementwiseLoop{"", "{ ", "", "}", ""}, ElementwiseLoop{"", "if a {", "", "} else { }", ""},
        ElementwiseLoop{"x = ", "if a then b else ", "1", "", ";"},
        ElementwiseLoop{"x = ", "if ", "a", " then b else c", ";"},
        ElementwiseLoop{"let x: ", "(", "i32", ", i32)", ";"}}) {
    CAPTURE(elementwise.open);
    auto text = [&](size_t n) {
      return InKernel(fmt::format("{}{}{}{}{}", elementwise.before, Repeat(elementwise.open, n),
                                  elementwise.inner, Repeat(elementwise.close, n),
                                  elementwise.after));
    };
    CHECK(Parsed(text(kMaxNesting - 1)).Errors() == "");
    for (size_t n : {size_t{300}, size_t{100'000}}) {
      Parsed deep(text(n));
      REQUIRE(deep.diagnostics.all().size() == 1);
      CHECK(deep.diagnostics.all()[0]->id == diag::NestedTooDeep.id);
    }
    // A truncated text gives an error, not a crash.
    std::string whole = text(kMaxNesting - 1);
    CHECK(!Parsed(whole.substr(0, whole.size() * 2 / 3)).result.ok);
  }
  std::string generic = InKernel("x = " + Repeat("f<A = ", 300) + "1" + Repeat(">(1)", 300) + ";");
  Parsed deep(generic);
  REQUIRE(deep.diagnostics.all().size() == 1);
  CHECK(deep.diagnostics.all()[0]->id == diag::NestedTooDeep.id);
  // The limit on nesting applies to each expression; the depths of neighbouring expressions are not
  // added.
  CHECK(Parsed(InKernel("x = " + Repeat("(if a then b else c) + f<A = 1>(1) + ", 400) + "1;"))
            .Errors() == "");
  CHECK(Parsed(InKernel(Repeat("if a { } ", 1000))).Errors() == "");
}

TEST_CASE("long chains are limited like nesting") {
  struct Chain {
    std::string_view before, link, after;
  };
  for (const Chain& chain :
       {Chain{"x = ", "a + ", "1;"}, Chain{"x = ", "- ", "1;"}, Chain{"x = a", "[0]", ";"},
        Chain{"x = a", " as i32", ";"}, Chain{"x = a", ".b", ";"}, Chain{"x = a", ".0", ";"},
        Chain{"if a { }", " else if a { }", ""}, Chain{"spmd a", ".b", "();"},
        Chain{"x = a", ".f()", ";"}, Chain{"x = sum(a over k with b", ".c", " init 1);"}}) {
    CAPTURE(chain.link);
    auto text = [&](size_t n) {
      return InKernel(fmt::format("{}{}{}", chain.before, Repeat(chain.link, n), chain.after));
    };
    CHECK(Parsed(text(900)).Errors() == "");
    Parsed deep(text(50'000));
    REQUIRE(deep.diagnostics.all().size() == 1);
    CHECK(deep.diagnostics.all()[0]->id == diag::TooComplex.id);
    CHECK(deep.result.module->items.empty());
  }
  // There is a long expression on each level: the limit applies to the product of depth and length.
  std::string text = Repeat("(" + Repeat("a + ", 20), 200) + "1" + Repeat(")", 200);
  Parsed deep(InKernel("x = " + text + ";"));
  REQUIRE(deep.diagnostics.all().size() == 1);
  CHECK(deep.diagnostics.all()[0]->id == diag::TooComplex.id);
}

TEST_CASE("each mistake is reported once, and so are later mistakes") {
  Parsed parsed(R"kdl(kernel k(a in f32[N]) { let x = ; }
kernel l(b: in f32[N]) {
    let x = ;
    f(a b c);
    let y = 3
    let z = (1 + 2;
    for i M by 4 { x = 1 2; }
    let in = 4;
    return
}
kernal m() { }
kernel n() { x = 1; else { } y = 2; }
)kdl");
  CHECK(parsed.Errors() ==
        "1:12 E0113, 1:33 E0113, 3:13 E0113, 4:9 E0113, 5:14 E0114, 6:19 E0113, 7:11 E0113, 8:9 "
        "E0113, 9:11 "
        "E0114, 11:1 E0113, 12:21 E0113");
}

TEST_CASE("items without mistakes are kept next to items with mistakes") {
  Parsed parsed("kernel a() { } kernel b() { let = 1; } kernel c() { 3 = x; } kernel d() { }");
  CHECK(!parsed.result.ok);
  REQUIRE(parsed.result.module->items.size() == 2);
  CHECK(parsed.result.module->items[0]->name.name.text() == "a");
  CHECK(parsed.result.module->items[1]->name.name.text() == "d");
}

TEST_CASE("invalid words do not cause additional parser errors") {
  Parsed parsed(
      "kernel k() {\n let a = 1 $ 2;\n let b = \"open;\n let c = 12ab;\n let d = 3 4;\n}");
  CHECK(parsed.Errors() == "2:12 E0106, 3:10 E0108, 4:10 E0107, 5:12 E0113");
  CHECK(Parsed("kernel k() { /* open }").Errors() == "1:14 E0109");
}

TEST_CASE("parsing stops after very many errors") {
  Parsed parsed(InKernel(Repeat("x = ; ", 5000)));
  CHECK(parsed.diagnostics.all().size() == 51);
  CHECK(parsed.diagnostics.all().back()->id == diag::TooManyErrors.id);
}

TEST_CASE("parsing ends even if one mistake is repeated endlessly") {
  for (std::string_view chunk :
       {"} ",      "kernel k() { ", "let ",  "spmd ; ", "a.; ",       "a ",      "( ",
        "1 ",      "range ",        "@ ",    "in ",     "kernel k( ", "device ", "test ",
        "a[; ",    "f<A = ",        "else ", "~ ",      "export ",    "if ",     "x = if ",
        "a < b = "}) {
    CAPTURE(chunk);
    CHECK(!Parsed(Repeat(chunk, 2000)).result.ok);
    CHECK(!Parsed("kernel k() { x = 1; " + Repeat(chunk, 2000)).result.ok);
    CHECK(!Parsed("kernel k() { x = f(" + Repeat(chunk, 2000)).result.ok);
  }
}

TEST_CASE("for any bytes, the parser ends with a tree or with located errors") {
  Random random(20);
  size_t refused = 0;
  constexpr size_t kRounds = 300;
  for (size_t round = 0; round < kRounds; ++round) {
    for (std::string_view original : kCorpus) {
      std::string text = Mutate(std::string(original), random);
      CAPTURE(text);
      Parsed parsed(text);
      CHECK(parsed.result.ok != parsed.diagnostics.has_errors());
      CHECK(parsed.diagnostics.all().size() <= 60);
      for (const auto& one : parsed.diagnostics.all()) {
        CHECK(one->span.begin <= one->span.end);
        CHECK(one->span.end <= text.size());
        CHECK(!RenderText(*one, parsed.sources, false).empty());
      }
      CHECK(DumpAst(*parsed.result.module).starts_with("(module"));
      refused += parsed.result.ok ? 0 : 1;
    }
  }
  CHECK(refused > kRounds * kCorpus.size() / 2);
}

TEST_CASE("ids of diagnostics are unique and in order") {
  CHECK(std::is_sorted(std::begin(kDiagnosticRows), std::end(kDiagnosticRows),
                       [](const DiagnosticRow& a, const DiagnosticRow& b) { return a.id < b.id; }));
  std::set<std::string_view> ids;
  for (const DiagnosticRow& row : kDiagnosticRows) CHECK(ids.insert(row.id).second);
}

}  // namespace kdl::syntax
