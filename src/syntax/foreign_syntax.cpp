#include "syntax/foreign_syntax.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "syntax/foreign_names.h"

namespace kdl::syntax {

namespace {

using Words = std::vector<std::string_view>;

bool IsAmong(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
}

bool IsName(std::string_view word) {
  return !word.empty() &&
         (std::isalpha(static_cast<unsigned char>(word[0])) != 0 || word[0] == '_');
}

/// Returns the words from `begin` up to, but not including, `end`, as the author would write them in an expression.
std::string Joined(const Words& words, size_t begin, size_t end) {
  std::string text;
  for (size_t at = begin; at < end; ++at) {
    bool is_operator = !IsName(words[at]) && words[at].find_first_of("+-*/%<>=&|") == 0;
    text += is_operator ? fmt::format(" {} ", words[at]) : std::string(words[at]);
    bool is_before_type = words[at] == ":" && at > begin && IsName(words[at - 1]) && at + 1 < end &&
                          IsName(words[at + 1]);
    if (words[at] == "," || is_before_type) text += ' ';
  }
  return text;
}

size_t FindWord(const Words& words, std::string_view word, size_t from) {
  return static_cast<size_t>(
      std::find(words.begin() + static_cast<std::ptrdiff_t>(std::min(from, words.size())),
                words.end(), word) -
      words.begin());
}

/// Returns the loop over indices that `for (int k = 0; k < K; k += 2)` means, or nothing if it has another form.
std::optional<std::string> LoopOfC(const Words& words) {
  size_t first = FindWord(words, ";", 0);
  size_t second = FindWord(words, ";", first + 1);
  size_t begin = FindWord(words, "=", 0);
  if (second + 2 >= words.size() || begin + 1 >= first || first + 3 >= second) return std::nullopt;
  std::string_view name = words[begin - 1];
  std::string_view compare = words[first + 2];
  if (words[first + 1] != name || (compare != "<" && compare != "<=")) return std::nullopt;
  std::string end = Joined(words, first + 3, second);
  if (compare == "<=") end += " + 1";
  std::string step;
  if (words[second + 2] == "+=" && second + 3 < words.size())
    step = fmt::format(" step {}", words[second + 3]);
  return fmt::format("for {} in {}..{}{} {{ … }}", name, Joined(words, begin + 1, first), end,
                     step);
}

/// Returns the type that the one or two words at `at` mean, such as `unsigned int`, and moves `at` after them.
std::string_view ReadType(const Words& words, size_t& at) {
  if (at + 2 < words.size()) {
    std::string_view type = TypeMeant(fmt::format("{} {}", words[at], words[at + 1]));
    if (!type.empty()) return at += 2, type;
  }
  std::string_view type = at + 1 < words.size() ? TypeMeant(words[at]) : "";
  if (!type.empty()) ++at;
  return type;
}

/// Returns the help for a declaration such as `float total = 0`, `const int n = 4` or `auto v = x[i]`.
std::string HelpForDeclaration(const Words& words) {
  size_t at = words[0] == "const" || words[0] == "auto" ? 1 : 0;
  std::string_view type = ReadType(words, at);
  size_t value = FindWord(words, "=", 0);
  return fmt::format(
      "declare a value with `let {0} = {2};`, or a variable with `var {0}{1} = {2};`", words[at],
      type.empty() ? "" : fmt::format(": {}", type),
      value + 1 < words.size() ? Joined(words, value + 1, words.size()) : "…");
}

bool IsDeclaration(const FaultyPhrase& phrase) {
  const Words& words = phrase.words;
  if (words[0] == "auto") return IsName(words[1]);
  if (words[0] == "const" && phrase.error == 0) return !TypeMeant(words[1]).empty();
  bool is_name = phrase.error < words.size() && IsName(words[phrase.error]);
  return !TypeMeant(words[0]).empty() && is_name && phrase.error >= 1 && phrase.error <= 2;
}

/// Returns the index of the word after a bracket and everything inside of it.
size_t AfterBracket(const Words& words, size_t open) {
  size_t depth = 0;
  for (size_t at = open; at < words.size(); ++at) {
    if (words[at] == "(" || words[at] == "[") ++depth;
    if ((words[at] == ")" || words[at] == "]") && --depth == 0) return at + 1;
  }
  return words.size();
}

/// Returns the index of the word after the operand that begins at `at`: a name or number with its indices, arguments and
/// fields, or an expression in parentheses.
size_t AfterOperand(const Words& words, size_t at) {
  size_t end = at < words.size() && words[at] != "(" ? at + 1 : at;
  while (end < words.size()) {
    bool is_field = words[end] == "." && end + 1 < words.size();
    if (words[end] != "(" && words[end] != "[" && !is_field) break;
    end = is_field ? end + 2 : AfterBracket(words, end);
  }
  return end;
}

/// Returns what to write instead of a cast such as `(float)x[i]`, whose operand is the error.
std::string HelpForCast(const FaultyPhrase& phrase) {
  const Words& words = phrase.words;
  size_t at = phrase.error;
  if (at < 3 || at >= words.size() || words[at - 3] != "(" || words[at - 1] != ")") return {};
  std::string_view type = TypeMeant(words[at - 2]);
  bool is_call = at > 3 && IsName(words[at - 4]) && words[at - 4] != "return";
  if (type.empty() || is_call) return {};
  return fmt::format("write '{} as {}'", Joined(words, at, AfterOperand(words, at)), type);
}

/// Returns what to write instead of a name with a namespace, such as `std::exp(x)`. The error is its first colon.
std::string HelpForNamespace(const FaultyPhrase& phrase) {
  const Words& words = phrase.words;
  size_t name = phrase.error + 2;
  if (name >= words.size() || words[name - 2] != ":" || words[name - 1] != ":") return {};
  if (std::string help = HelpForForeign(words[name]); !help.empty()) return help;
  return fmt::format("write `{}`: builtin functions have no namespace",
                     Joined(words, name, AfterOperand(words, name)));
}

/// Returns what to write instead of a product of matrices such as `a[i, k] @ b[k, j]`, whose second `[` is the error.
std::string HelpForMatrixProduct(const FaultyPhrase& phrase) {
  size_t at = phrase.error;
  if (at < 2 || at >= phrase.words.size() || phrase.words[at - 2] != "@") return {};
  if (phrase.words[at] != "[") return {};
  return "write dot(a[i, k], b[k, j] over k) for a product of matrices, in a loop such as `for k "
         "in "
         "K by 32 { acc += …; }`";
}

/// Returns what to write instead of a keyword in a module, such as `np.inf`.
std::string HelpForInfinity(const FaultyPhrase& phrase) {
  size_t at = phrase.error;
  if (at < 2 || at >= phrase.words.size() || phrase.words[at - 1] != ".") return {};
  bool is_value = phrase.words[at] == "inf" || phrase.words[at] == "nan";
  return is_value ? fmt::format("write {}, without '{}.'", phrase.words[at], phrase.words[at - 2])
                  : std::string();
}

/// Returns what to write instead of an address or a pointer, such as `&y[i]` in `atomicAdd(&y[i], v)`, or `*y`.
std::string HelpForPointer(const FaultyPhrase& phrase) {
  const Words& words = phrase.words;
  size_t at = phrase.error;
  if (at >= words.size() || (words[at] != "&" && words[at] != "*")) return {};
  static constexpr std::string_view kBefore[] = {"(", ",", "=", "+=", "return"};
  if (at != 0 && !IsAmong(words[at - 1], kBefore)) return {};
  size_t comma = AfterOperand(words, at + 1);
  if (at == 2 && words[1] == "(" && comma < words.size() && words[comma] == ",") {
    std::string help = HelpForAtomic(words[0], Joined(words, at + 1, comma),
                                     Joined(words, comma + 1, AfterBracket(words, 1) - 1));
    if (!help.empty()) return help;
  }
  return fmt::format("remove '{}': there are no pointers; y is a tensor, and y[i] its elements",
                     words[at]);
}

bool IsDirection(std::string_view word) { return word == "in" || word == "out" || word == "inout"; }

/// Returns what to write instead of a direction before the name, as in `(in x: f32[N])`, or after the type. The error is the
/// direction.
std::string HelpForDirection(const FaultyPhrase& phrase) {
  const Words& words = phrase.words;
  size_t at = phrase.error;
  if (at == 0 || at + 1 >= words.size() || !IsDirection(words[at])) return {};
  bool is_first = words[at - 1] == "(" || words[at - 1] == ",";
  size_t name = is_first ? at + 1 : at;
  while (!is_first && name > 0 && words[name] != ":") --name;
  if (name == 0) return {};
  if (!is_first) --name;
  if (name + 2 >= words.size() || words[name + 1] != ":") return {};
  size_t end = is_first ? AfterOperand(words, name + 2) : at;
  return fmt::format("write `{}: {} {}`: the direction is part of the type", words[name], words[at],
                     Joined(words, name + 2, end));
}

/// Returns what to write instead of generic parameters before a name, as in `kernel<T> f(…)`. The error is the bracket.
std::string HelpForEarlyGenerics(const FaultyPhrase& phrase) {
  const Words& words = phrase.words;
  size_t at = phrase.error;
  bool is_item =
      at > 0 && at < words.size() && (words[at - 1] == "kernel" || words[at - 1] == "fn");
  if (!is_item || words[at] != "<") return {};
  return fmt::format("write generic parameters after the name: {} scale<T: f32 | f64>(…)",
                     words[at - 1]);
}

/// Returns what to write instead of a declaration without `var`, such as `s: f32 = 0`. The error is the colon.
std::string HelpForMissingVar(const FaultyPhrase& phrase) {
  const Words& words = phrase.words;
  if (phrase.error != 1 || words.size() < 3 || words[1] != ":" || TypeMeant(words[2]).empty())
    return {};
  return fmt::format("declare a variable with `var {};`", Joined(words, 0, words.size()));
}

constexpr std::string_view kLoopWords[] = {"foreach", "forall", "parallel_for", "prange", "loop"};
constexpr std::string_view kMemoryWords[] = {"__shared__", "__local",     "shared", "local",
                                             "__private",  "groupshared", "static"};
constexpr std::string_view kHeadWords[] = {
    "__global__", "__device__", "__kernel", "void", "def", "func", "function", "proc",   "task",
    "static",     "inline",     "extern",   "int",  "i32", "f32",  "float",    "double", "auto"};
constexpr std::string_view kTypeWords[] = {"struct", "class", "typedef", "enum", "union"};

}  // namespace

std::string HelpForDirective(std::string_view line) {
  Words words;
  for (size_t at = 1; at < line.size();) {
    size_t begin = line.find_first_not_of(" \t\r", at);
    if (begin == std::string_view::npos) break;
    at = std::min(line.find_first_of(" \t\r", begin), line.size());
    words.push_back(line.substr(begin, at - begin));
  }
  std::string_view word = words.empty() ? "" : words[0];
  if (word == "define" && words.size() == 3 && words[1].find('(') == std::string_view::npos)
    return fmt::format("write `const {} = {};`", words[1], words[2]);
  if (word == "define") return "use a `fn`: fn square(x: f32) -> f32 { return x * x; }";
  if (word == "include")
    return "remove it: builtin functions need no file; `import std.nn;` imports a file of the "
           "library";
  if (word == "pragma")
    return "remove it, and write `spmd for` instead of the `for` below: `spmd for i in N by 64 { … "
           "}` distributes its blocks over the cores";
  if (word == "if" || word == "ifdef" || word == "ifndef" || word == "endif" || word == "else")
    return "remove it: an integer parameter, as in <B: int = 64>, has a value for each target, and "
           "`if T is f64 { … }` is decided for each type";
  return "start a comment with //";
}

std::string HelpForForeignItem(const FaultyPhrase& phrase) {
  const Words& words = phrase.words;
  size_t first = !words.empty() && words[0] == "export" ? 1 : 0;
  if (first >= words.size()) return {};
  if (words[first] == "template")
    return "write generic parameters after the name: kernel scale<T: f32 | f64>(…)";
  if (IsAmong(words[first], kTypeWords))
    return "use a tensor for each member; `(f32, i64)` is the type of a tuple";
  if (first + 2 < words.size() && IsName(words[first]) && words[first + 1] == "=")
    return fmt::format("write `const {};`", Joined(words, first, words.size()));
  if (!IsAmong(words[first], kHeadWords)) return {};
  size_t bracket = FindWord(words, "(", first);
  bool has_name = bracket < words.size() && bracket > first && IsName(words[bracket - 1]);
  return fmt::format(
      "begin a kernel with `kernel`, and write types after names: "
      "export kernel {}(a: f32, x: in f32[N], y: out f32[N]) {{ … }}",
      has_name ? words[bracket - 1] : "scale");
}

std::string HelpForForeignStatement(const FaultyPhrase& phrase) {
  const Words& words = phrase.words;
  if (words.size() < 2) return {};
  std::string_view first = words[0];
  bool is_before_for = phrase.error == 1 && IsName(first) && words[1] == "for";
  if (is_before_for || IsAmong(first, kLoopWords))
    return "write `spmd for i in N by 64 { … }`, which distributes the blocks of N over the cores";
  if (first == "for" && words[1] == "(") {
    if (std::optional<std::string> loop = LoopOfC(words)) return fmt::format("write `{}`", *loop);
    return "use `for i in 0..N { … }` to iterate over indices, or `for i in N by 16 { … }` over "
           "blocks";
  }
  if (IsAmong(first, kMemoryWords) && phrase.error <= 3) {
    size_t bracket = FindWord(words, "[", 0);
    std::string_view name = bracket < words.size() ? words[bracket - 1] : "t";
    return fmt::format(
        "write `let {} = x[i];`: a tile is a value, and the compiler chooses its memory", name);
  }
  if (first == "let" && words[1] == "mut" && words.size() > 2)
    return fmt::format("write `var {}`: a `var` can be assigned", words[2]);
  if (IsDeclaration(phrase)) return HelpForDeclaration(words);
  for (auto* help_for :
       {&HelpForCast, &HelpForNamespace, &HelpForMatrixProduct, &HelpForPointer, &HelpForInfinity,
        &HelpForDirection, &HelpForEarlyGenerics, &HelpForMissingVar})
    if (std::string help = help_for(phrase); !help.empty()) return help;
  return {};
}

std::string HelpForQualifier(std::string_view word) {
  static constexpr std::string_view kQualifiers[] = {
      "uniform",  "varying",  "const",      "__global",     "__constant", "__local",
      "restrict", "volatile", "__restrict", "__restrict__", "mut",        "ref"};
  if (!IsAmong(word, kQualifiers)) return {};
  return fmt::format(
      "remove '{}': a parameter is the same for all blocks, and can be written only if it is `out` "
      "or `inout`",
      word);
}

std::string HelpForAngles(std::string_view name, std::string_view type, std::string_view operand) {
  std::string_view meant = TypeMeant(type);
  if (meant.empty() || !operand.starts_with('(')) return {};
  if (!name.ends_with("_cast")) return fmt::format("name the type: {}<T = {}>(…)", name, meant);
  size_t end = operand.find(')');
  bool is_simple = operand.substr(0, end).find_first_of(" +-*/") == std::string_view::npos;
  return is_simple ? fmt::format("write '{} as {}'", operand.substr(1, end - 1), meant)
                   : fmt::format("write '{} as {}'", operand, meant);
}

}  // namespace kdl::syntax
