#include "tools/suite/suite_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string_view>

#include "driver/diagnostics.h"
#include "driver/files.h"
#include "driver/yaml_text.h"

namespace kdl::tools {

namespace {

constexpr size_t kMostSuiteBytes = size_t{1} << 20;
constexpr int64_t kUsualLimit = 120;  // seconds
constexpr int64_t kMostLimit = 1'000'000;

using driver::EntriesOf;
using driver::FailAt;
using driver::KnownKey;
using driver::NumberOf;
using driver::TextOf;

SuiteSizes SizesOf(const YAML::Node& node) {
  SuiteSizes sizes;
  for (const auto& [key, value] : EntriesOf(node, "sizes such as {N: 100}"))
    sizes.emplace_back(key.Scalar(), NumberOf(value, 0));
  return sizes;
}

std::vector<std::pair<std::string, std::string>> TextsOf(const YAML::Node& node) {
  std::vector<std::pair<std::string, std::string>> texts;
  for (const auto& [key, value] : EntriesOf(node, "values such as {N: 100}"))
    texts.emplace_back(key.Scalar(), TextOf(value, "a value"));
  return texts;
}

std::vector<std::string> ListOf(const YAML::Node& node) {
  if (!node.IsSequence()) FailAt(node, "expected a list such as [numpy, numba]");
  std::vector<std::string> list;
  for (const YAML::Node& item : node) list.push_back(TextOf(item, "a name"));
  return list;
}

/// Removes the text up to the next blank, and the blanks after it.
std::string_view TakeWord(std::string_view& text, std::string_view ends = " ") {
  std::string_view word = text.substr(0, text.find_first_of(ends));
  text.remove_prefix(word.size());
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(' ')));
  return word;
}

/// Splits at commas that are outside of parentheses.
std::vector<std::string> SplitShape(std::string_view text) {
  std::vector<std::string> parts(1);
  int depth = 0;
  for (char c : text) {
    depth += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == ',' && depth == 0) {
      parts.emplace_back();
    } else if (c != ' ') {
      parts.back() += c;
    }
  }
  return parts;
}

SuiteArgument ArgumentOf(const YAML::Node& key, const YAML::Node& node) {
  constexpr std::string_view kForm = "an argument such as `in f64[N, M] uniform(0, 1)`";
  constexpr std::pair<std::string_view, ir::Direction> kDirections[] = {
      {"in", ir::Direction::In}, {"out", ir::Direction::Out}, {"inout", ir::Direction::InOut}};
  std::string written = TextOf(node, kForm);
  std::string_view rest = written;
  SuiteArgument argument;
  argument.name = key.Scalar();
  std::string_view word = TakeWord(rest);
  const auto* direction =
      std::ranges::find(kDirections, word, [](const auto& d) { return d.first; });
  if (direction == std::end(kDirections))
    FailAt(node, fmt::format("expected {}; '{}' is not in, out or inout", kForm, word));
  argument.direction = direction->second;
  std::string_view type = TakeWord(rest, " [");
  const auto* scalar = std::ranges::find(kScalars, type, &ScalarInfo::spelling);
  if (scalar == std::end(kScalars) || scalar->scalar == Scalar::BF16 || IsByteFloat(scalar->scalar))
    FailAt(node, fmt::format("'{}' is not a type that NumPy has", type));
  argument.scalar = scalar->scalar;
  argument.is_tensor = rest.starts_with('[');
  if (argument.is_tensor) {
    size_t end = rest.find(']');
    if (end == std::string_view::npos)
      FailAt(node, fmt::format("expected {}; ']' is missing", kForm));
    argument.shape = SplitShape(rest.substr(1, end - 1));
    rest.remove_prefix(end + 1);
    rest.remove_prefix(std::min(rest.size(), rest.find_first_not_of(' ')));
  }
  argument.fill = rest;
  if (!argument.is_tensor && argument.direction != ir::Direction::In)
    FailAt(node, "only tensors can be out or inout");
  if (!argument.is_tensor && argument.fill.empty())
    FailAt(node, "a scalar needs a value: `in f64 1.5`");
  if (argument.direction == ir::Direction::Out && !argument.fill.empty())
    FailAt(node, fmt::format("an output has no values before the run; remove '{}'", argument.fill));
  return argument;
}

class SuiteReader {
 public:
  explicit SuiteReader(const std::string& path)
      : folder_(std::filesystem::path(path).parent_path()) {
    suite_.path = path;
  }

  Suite Read(const YAML::Node& root) {
    YAML::Node problems;
    for (const auto& [key, value] : EntriesOf(root, "a mapping with the key 'problems'")) {
      std::string_view name = KnownKey(key, {"suite", "peers", "baselines", "limit", "problems"});
      if (name == "suite") suite_.name = TextOf(value, "a name");
      if (name == "peers") suite_.peers = PathOf(value);
      if (name == "baselines") baselines_ = ListOf(value);
      if (name == "limit") limit_ = NumberOf(value, 1, kMostLimit);
      if (name == "problems") problems = value;
    }
    for (std::string_view name : {"suite", "peers", "problems"}) {
      if (!root[std::string(name)]) FailAt(root, fmt::format("the key '{}' is missing", name));
    }
    if (!problems.IsSequence()) FailAt(problems, "'problems' must be a list");
    for (const YAML::Node& problem : problems) suite_.problems.push_back(ProblemOf(problem));
    return std::move(suite_);
  }

 private:
  std::string PathOf(const YAML::Node& node) const {
    return (folder_ / TextOf(node, "the path of a file")).lexically_normal().string();
  }

  SuiteProblem ProblemOf(const YAML::Node& node) {
    SuiteProblem problem;
    problem.baselines = baselines_;
    problem.limit = limit_;
    for (const auto& [key, value] : EntriesOf(node, "a problem with the key 'name'")) {
      std::string_view name =
          KnownKey(key, {"name", "file", "program", "kernel", "published", "scaled", "check",
                         "arguments", "defines", "peer", "draw", "baselines", "limit", "note"});
      problem.lines[key.Scalar()] = LineOf(key);
      if (name == "name") problem.name = TextOf(value, "a name");
      if (name == "file") problem.file = PathOf(value);
      if (name == "program" || name == "kernel") SetFunction(problem, key, value);
      if (name == "published") problem.published = TextsOf(value);
      if (name == "scaled") problem.scaled = SizesOf(value);
      if (name == "check") problem.check = SizesOf(value);
      if (name == "defines") problem.defines = TextsOf(value);
      if (name == "peer") problem.peer = TextOf(value, "the name of a function");
      if (name == "draw") problem.draw = TextOf(value, "the name of a function");
      if (name == "baselines") problem.baselines = ListOf(value);
      if (name == "limit") problem.limit = NumberOf(value, 1, kMostLimit);
      if (name == "note") problem.note = TextOf(value, "a text");
      if (name == "arguments") SetArguments(problem, value);
    }
    for (std::string_view name : {"name", "file", "scaled", "arguments"}) {
      if (!node[std::string(name)]) FailAt(node, fmt::format("the key '{}' is missing", name));
    }
    if (problem.function.empty()) FailAt(node, "the key 'program' or 'kernel' is missing");
    if (!names_.insert(problem.name).second)
      FailAt(node["name"], fmt::format("there is already a problem '{}'", problem.name));
    if (problem.check.empty()) problem.check = problem.scaled;
    if (problem.peer.empty()) problem.peer = problem.name;
    CheckSizes(node, problem);
    return problem;
  }

  static size_t LineOf(const YAML::Node& node) { return static_cast<size_t>(node.Mark().line) + 1; }

  static void SetFunction(SuiteProblem& problem, const YAML::Node& key, const YAML::Node& value) {
    if (!problem.function.empty()) FailAt(key, "a problem has a program or a kernel, not both");
    problem.function = TextOf(value, "a name");
    problem.is_program = key.Scalar() == "program";
  }

  static void SetArguments(SuiteProblem& problem, const YAML::Node& node) {
    bool writes = false;
    for (const auto& [key, value] : EntriesOf(node, "a mapping of arguments")) {
      problem.lines["arguments." + key.Scalar()] = LineOf(key);
      problem.arguments.push_back(ArgumentOf(key, value));
      writes = writes || problem.arguments.back().direction != ir::Direction::In;
    }
    if (!writes) FailAt(node, "a problem needs an argument that is out or inout");
  }

  /// Checks that `check` and `scaled` give values to the same names.
  static void CheckSizes(const YAML::Node& node, const SuiteProblem& problem) {
    auto names = [](const SuiteSizes& sizes) {
      std::set<std::string> found;
      for (const auto& [name, value] : sizes) found.insert(name);
      return found;
    };
    if (names(problem.check) != names(problem.scaled))
      FailAt(node["check"], "'check' and 'scaled' must have the same names");
  }

  std::filesystem::path folder_;
  Suite suite_;
  std::vector<std::string> baselines_;
  int64_t limit_ = kUsualLimit;
  std::set<std::string> names_;
};

}  // namespace

std::optional<Suite> ReadSuite(const std::string& path, SourceManager& sources,
                               DiagnosticEngine& diagnostics) {
  std::optional<std::string> text = driver::ReadInputFile(path, kMostSuiteBytes, diagnostics);
  if (!text) return std::nullopt;
  std::optional<Suite> suite;
  driver::ReadYaml(
      path, *text, sources, [&](const YAML::Node& root) { suite = SuiteReader(path).Read(root); },
      [&](Span at, const std::string& fault) {
        diagnostics.Report(driver::diag::SuiteSyntax, at, fault);
      });
  return suite;
}

}  // namespace kdl::tools
