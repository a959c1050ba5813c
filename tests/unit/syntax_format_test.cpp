#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <string_view>

#include "syntax/format.h"
#include "syntax_corpus.h"
#include "syntax_text.h"

namespace kdl::syntax {

namespace {

namespace fs = std::filesystem;

/// Returns the formatted text, or nothing if the text has syntax errors.
std::optional<std::string> Formatted(std::string_view text) {
  SourceManager sources;
  DiagnosticEngine diagnostics;
  FileId file = sources.Add("t.kdl", std::string(text));
  return FormatFile(sources, file, diagnostics);
}

std::string TreeOf(std::string_view text) {
  Parsed parsed(text);
  return DumpAst(*parsed.result.module);
}

/// Checks that formatting keeps the tree, and that a second run changes nothing. Returns whether the text was
/// formatted.
bool CheckFormatted(std::string_view text) {
  std::optional<std::string> once = Formatted(text);
  CHECK(once.has_value() == Parsed(text).result.ok);
  if (!once) return false;
  CAPTURE(*once);
  CHECK(TreeOf(*once) == TreeOf(text));
  CHECK(Formatted(*once) == once);
  return true;
}

/// Replaces white space between tokens at random, by spaces or by other line breaks.
std::string Scattered(std::string_view text, std::mt19937& random) {
  std::string out;
  bool in_line_comment = false;
  bool in_block_comment = false;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    std::string_view two = text.substr(i, 2);
    bool in_text = in_line_comment || in_block_comment || in_string;
    if (!in_text && two == "//") in_line_comment = true;
    if (!in_text && two == "/*") in_block_comment = true;
    if (in_block_comment && two == "*/") in_block_comment = false;
    if (!in_line_comment && !in_block_comment && c == '"') in_string = !in_string;
    bool is_free = !in_text && (c == ' ' || c == '\n');
    if (c == '\n') in_line_comment = false;
    if (is_free && random() % 6 == 0) {
      constexpr std::string_view kOther[] = {" ",       "\n",        "\n\n",   "\t",
                                             " \r\n  ", " /* c */ ", " // c\n"};
      out += kOther[random() % std::size(kOther)];
    } else {
      out += c;
    }
  }
  return out;
}

std::string Example(std::string_view text) {
  std::optional<std::string> formatted = Formatted(text);
  REQUIRE(formatted);
  return *formatted;
}

}  // namespace

TEST_CASE("formatting keeps the trees of the language's examples") {
  for (std::string_view text : kCorpus) {
    CAPTURE(text);
    CHECK(CheckFormatted(text));
  }
}

TEST_CASE(
    "formatting keeps the trees of all files of the repository, and of files with other white "
    "space") {
  std::mt19937 random(7);
  size_t formatted = 0;
  for (const char* folder : {"samples", "stdlib", "tests"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(KDL_ROOT_FOLDER) / folder)) {
      if (entry.path().extension() != ".kdl") continue;
      CAPTURE(entry.path().string());
      std::ifstream in(entry.path());
      std::stringstream text;
      text << in.rdbuf();
      formatted += CheckFormatted(text.str()) ? 1 : 0;
      if (random() % 4 == 0) CheckFormatted(Scattered(text.str(), random));
    }
  }
  CHECK(formatted > 500);
}

TEST_CASE("the rules of the style") {
  CHECK(Example("const  a=1 ;const b\n= -\n2;\n\n\n\nconst c=[1,2];") == R"(const a = 1;
const b = -2;

const c = [1, 2];
)");
  SUBCASE("blocks stay in one line only if they fit and were in one line") {
    CHECK(Example("fn f(x:i32)->i32{return x;}\nfn g(x:i32)->i32{\nreturn x+ -1;}") ==
          R"(fn f(x: i32) -> i32 { return x; }
fn g(x: i32) -> i32 {
    return x + -1;
}
)");
    CHECK(Example("kernel f(){ }\nkernel g() { if a {x=1;}\nelse {\n x=2; } }") == R"(kernel f() {}
kernel g() {
    if a {
        x = 1;
    } else {
        x = 2;
    }
}
)");
  }
  SUBCASE("a head of several lines ends before the brace") {
    CHECK(Example("kernel f(a: in f32[N],\nb: out f32[N]) where N>0 { b[0]=a[0]; } ensures { "
                  "b[i]~a[i]; }") ==
          R"(kernel f(a: in f32[N],
    b: out f32[N]) where N > 0
{
    b[0] = a[0];
}
ensures { b[i] ~ a[i]; }
)");
  }
  SUBCASE("products may be written without spaces") {
    CHECK(Example("const a = 2*P - x +  b *c+d/ e;") == "const a = 2*P - x + b * c + d / e;\n");
  }
  SUBCASE("comments") {
    CHECK(Example("const a = 1; // one\nconst bc = 22;   // two\n  // alone\nconst /* in */ d = "
                  "3;\n/* c */ const e = 4;") ==
          R"(const a = 1;    // one
const bc = 22;  // two
// alone
const /* in */ d = 3;
/* c */ const e = 4;
)");
  }
  SUBCASE("the dimensions of `by` are not arguments of a call") {
    CHECK(Example("program p() { let x: f32[M, N] on grid by(M,_); }") ==
          "program p() { let x: f32[M, N] on grid by (M, _); }\n");
  }
  SUBCASE("numbers of tuples stay apart") {
    CHECK(Example("const a = t.0 .1 + t.0.1;") == "const a = t.0 .1 + t.0.1;\n");
  }
  SUBCASE("long lines") {
    std::string sum = "const a = x";
    for (int i = 0; i < 12; ++i) sum += " + long_name_of_a_constant_" + std::to_string(i);
    std::string formatted = Example(sum + ";");
    for (size_t begin = 0; begin < formatted.size();) {
      size_t end = formatted.find('\n', begin);
      CHECK(end - begin <= 120);
      CHECK((begin == 0 || formatted.substr(begin, 6) == "    + "));
      begin = end + 1;
    }
  }
}

TEST_CASE("a text with an error has no format") {
  CHECK(!Formatted("const a = ;"));
  CHECK(!Formatted("const a = 1 < 2 < 3;"));
  CHECK(Formatted("") == "");
  CHECK(Formatted("\n\n") == "");
  CHECK(Formatted("// only a comment") == "// only a comment\n");
}

TEST_CASE("formatting a long line takes time in proportion to its length") {
  std::string text = "const a = [0";
  for (int i = 0; i < 100'000; ++i) text += ", 1";
  CHECK(CheckFormatted(text + "];"));
}

}  // namespace kdl::syntax
