#include <doctest/doctest.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "sema_text.h"
#include "syntax_corpus.h"

// Tests programs with one mistake each. The right errors must be reported, and no program may crash the
// compiler.
namespace kdl::sema {
namespace {

/// A word, number or sign of source text. Spaces and comments are not tokens.
struct Token {
  size_t begin;
  size_t end;
};

std::vector<Token> TokensOf(std::string_view text) {
  std::vector<Token> tokens;
  for (size_t i = 0; i < text.size();) {
    auto is_word = [&](size_t at) {
      return at < text.size() &&
             (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '_');
    };
    size_t end = i;
    while (is_word(end)) ++end;
    if (end == i) end = i + 1;
    if (text.substr(i, 2) == "//") {
      end = std::min(text.find('\n', i), text.size());
    } else if (std::isspace(static_cast<unsigned char>(text[i])) == 0) {
      tokens.push_back({i, end});
    }
    i = end;
  }
  return tokens;
}

std::string Replace(std::string_view text, Token token, std::string_view by) {
  return std::string(text.substr(0, token.begin)) + std::string(by) +
         std::string(text.substr(token.end));
}

/// Checks that the text is either accepted or gets errors with a message.
void CheckSays(const std::string& text) {
  Checked one(text);
  for (const auto& report : one.diagnostics.all()) {
    INFO(text);
    CHECK_FALSE(report->text.empty());
  }
}

constexpr std::string_view kHost = R"kdl(
const LIMIT: i64 = 1 << 10;
device cpu = target("host");
device npu = select(target("cuda", arch = "sm_90"), fallback(cpu));
fn scale<T: f32 | f64>(x: T, by: T) -> T {
    var r = x * by;
    if r > 4.0 { r = min(r, 4.0); } else { r = r + 1; }
    return r;
}
kernel layer<D: int, B: int in {16, 32} = 16>(x: in f32[M, D], n: in i32[M], w: in f32[D, H], y: out f32[M, H])
    where H <= 4 * LIMIT
{
    range d in D;
    spmd for i in M by B, j in H by B {
        let t = x[n[i], d] + x[M - 1 - i, 2*d - 1 else 0];
        y[i, j] = scale(sum(t over d), 0.5) + w[0, j];
        for l in j by 4 { y[i, l] += (iota(l) + l.start) as f32; }
    }
    if core_id == 0 { y[0, 0] = 1.0; }
}
requires { 0 <= n[e] && n[e] < M; }
program p(x: in f32[M, 64], n: in i32[M] on cpu, w: in f32[64, H], count: i64, y: out f32[M, H]) {
    let h: f32[M, H] on npu;
    let cores = max(1, M / 64);
    for r in 0..count {
        if r % 2 == 0 { spmd(core_num = cores) on npu.queue(1) layer<B = 32>(x, n, w, h); }
    }
    spmd layer(x, n, w, y);
}
)kdl";

constexpr std::string_view kTexts[] = {syntax::kMatmul, syntax::kSoftmax, syntax::kConv2d, kHost};

TEST_CASE("the texts are correct before they are changed") {
  for (std::string_view text : kTexts) CHECK(Checked(text).Rendered() == "");
}

TEST_CASE("a word is removed, doubled, or replaced by another word of the text") {
  for (std::string_view text : kTexts) {
    std::vector<Token> tokens = TokensOf(text);
    for (size_t i = 0; i < tokens.size(); ++i) {
      Token token = tokens[i];
      CheckSays(Replace(text, token, ""));
      std::string_view word = text.substr(token.begin, token.end - token.begin);
      CheckSays(Replace(text, token, fmt::format("{} {}", word, word)));
      Token other = tokens[(i * 7 + 31) % tokens.size()];
      CheckSays(Replace(text, token, text.substr(other.begin, other.end - other.begin)));
    }
  }
}

TEST_CASE("names and numbers are replaced by words of another kind") {
  constexpr std::string_view kWords[] = {"0",    "3.5", "true",    "M",       "x",
                                         "T",    "BM",  "iota(i)", "core_id", "f32",
                                         "auto", "max", "-1",      "matmul"};
  size_t next = 0;
  for (std::string_view text : kTexts) {
    for (Token token : TokensOf(text)) {
      if (std::isalnum(static_cast<unsigned char>(text[token.begin])) == 0) continue;
      for (size_t i = 0; i < 3; ++i) {
        CheckSays(Replace(text, token, kWords[next++ % std::size(kWords)]));
      }
    }
  }
}

}  // namespace
}  // namespace kdl::sema
