#include "tools/suite/problem_run.h"
#include "support/json_text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "driver/diagnostics.h"
#include "driver/run/npy.h"
#include "support/io.h"
#include "support/process.h"
#include "support/scalar.h"
#include "tools/suite/suite_check.h"
#include "tools/timing/measure_options.h"

namespace kdl::tools {

namespace {

using Json = nlohmann::json;

/// What kernelc prints if results differ from the reference or violate a contract.
constexpr std::string_view kDifferences[] = {"[E0961]", "[E0965]", "the launch violates"};

constexpr size_t kMostAnswer = size_t{1} << 20;

/// The text of peer.py.
constexpr std::string_view kPeerScript =
#include "suite_peer.inc"
    ;

/// Returns the options that determine the code of a problem.
std::vector<std::string> CompilerOptions(const driver::Options& options) {
  std::vector<std::string> words;
  auto add = [&](std::string_view option, std::string_view value) {
    words.push_back(fmt::format("--{}={}", option, value));
  };
  for (const std::string& device : options.device) add("device", device);
  for (const std::string& define : options.define) add("define", define);
  if (options.opt_level) add("opt-level", fmt::to_string(*options.opt_level));
  if (!options.pipeline.empty()) add("pipeline", options.pipeline);
  return words;
}

/// Thrown inside this file only: the row is complete.
struct RowEnds {};

std::string_view DirectionText(ir::Direction direction) {
  return direction == ir::Direction::In ? "in" : direction == ir::Direction::Out ? "out" : "inout";
}

bool IsName(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0;
  });
}

class ProblemRun {
 public:
  ProblemRun(const Suite& suite, const SuiteProblem& problem, const SuiteSettings& settings)
      : suite_(suite), problem_(problem), settings_(settings), row_(KeyOf(problem, settings)) {}

  SuiteRow MakeRow() {
    try {
      Result<TemporaryFolder> folder = TemporaryFolder::Make();
      if (!folder.ok()) End(Verdict::Failed, folder.failure().message);
      folder_ = folder->path();
      Draw();
      RunOurs();
      Compare();
      if (settings_.times) TimeBaselines();
    } catch (const RowEnds&) {
    }
    return std::move(row_);
  }

 private:
  const SuiteSizes& Sizes() const { return settings_.times ? problem_.scaled : problem_.check; }

  [[noreturn]] void End(Verdict verdict, std::string note) {
    row_.verdict = verdict;
    row_.note = std::move(note);
    throw RowEnds();
  }

  std::string PathOf(std::string_view file) const { return fmt::format("{}/{}", folder_, file); }

  /// Runs a process. If it does not succeed, ends the row, unless `may_fail`.
  ProcessResult RunStep(std::string_view what, std::vector<std::string> words, bool may_fail) {
    ProcessRequest request;
    request.words = std::move(words);
    request.deadline_s = static_cast<double>(problem_.limit);
    for (const char* name : {"OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"})
      request.environment.push_back(fmt::format("{}={}", name, std::max(1, settings_.threads)));
    Result<ProcessResult> ran = RunProcess(request);
    if (!ran.ok()) End(Verdict::Failed, ran.failure().message);
    if (ran->ok() || may_fail) return *ran;
    EndAfter(what, *ran, request);
  }

  [[noreturn]] void EndAfter(std::string_view what, const ProcessResult& ran,
                             const ProcessRequest& request) {
    Verdict verdict = ran.timed_out     ? Verdict::Late
                      : ran.signal != 0 ? Verdict::Crashed
                                        : Verdict::Failed;
    End(verdict, fmt::format("{}: {}", what,
                             ErrorOf(ran).empty() || ran.timed_out ? DescribeEnd(ran, request)
                                                                   : ErrorOf(ran)));
  }

  /// Returns the first error that kernelc has printed, or the last line of a Python traceback.
  static std::string ErrorOf(const ProcessResult& ran) {
    std::string_view text = ran.err;
    size_t error = text.find("error: ");
    if (error != std::string_view::npos) {
      size_t begin = text.rfind('\n', error);
      begin = begin == std::string_view::npos ? 0 : begin + 1;
      return std::string(text.substr(begin, text.find('\n', begin) - begin));
    }
    while (text.ends_with('\n')) text.remove_suffix(1);
    return std::string(text.substr(text.rfind('\n') + 1));
  }

  std::vector<std::string> PeerWords(std::vector<std::string> more) const {
    std::vector<std::string> words = {settings_.python, PathOf("peer.py"), folder_};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }

  Json Answer() {
    Result<std::string> text = ReadFile(PathOf("answer.json"), kMostAnswer);
    Json answer = text.ok() ? Json::parse(*text, nullptr, false) : Json();
    return answer.is_object() ? answer : Json::object();
  }

  void WriteRequest() {
    Json request;
    request["peers"] = std::filesystem::absolute(suite_.peers).string();
    request["suite"] = suite_.path;
    request["lines"] = problem_.lines;
    request["peer"] = problem_.peer;
    request["draw"] = problem_.draw;
    request["seed"] = settings_.options.seed.value_or(1);
    request["seconds"] = static_cast<double>(problem_.limit) / 8;
    request["trials"] = settings_.options.trials.value_or(20);
    request["threads"] = std::max(1, settings_.threads);
    request["sizes"] = Json::object();
    for (const auto& [name, value] : Sizes()) request["sizes"][name] = value;
    request["arguments"] = Json::array();
    bool scalars = false;
    for (const SuiteArgument& argument : problem_.arguments) {
      scalars = scalars || !argument.is_tensor;
      request["arguments"].push_back({{"name", argument.name},
                                      {"direction", DirectionText(argument.direction)},
                                      {"type", Spelling(argument.scalar)},
                                      {"tensor", argument.is_tensor},
                                      {"shape", argument.shape},
                                      {"fill", argument.fill}});
    }
    request["scalars"] = scalars;
    for (const auto& [path, text] :
         {std::pair<std::string, std::string>{"request.json", JsonText(request, 2)},
          {"peer.py", std::string(kPeerScript)}}) {
      Status written = WriteFileWhole(PathOf(path), text);
      if (!written.ok()) End(Verdict::Failed, written.failure().message);
    }
  }

  /// Draws the arguments, and computes the results to compare with.
  void Draw() {
    if (settings_.python.empty()) End(Verdict::Failed, "not compared: there is no python3 in PATH");
    WriteRequest();
    RunStep("the peer", PeerWords({"inputs"}), false);
    scalars_ = Answer()["scalars"];
    if (!scalars_.is_object())
      End(Verdict::Failed, "the peer: ended its process without an answer");
  }

  std::string OutPath(const SuiteArgument& argument) const {
    return PathOf(argument.name + ".ours.npy");
  }

  /// Returns the sizes that only outputs have. Those of inputs are known from their files.
  std::set<std::string> SizesOfOutputs() const {
    std::set<std::string> known;
    std::set<std::string> open;
    for (const SuiteArgument& argument : problem_.arguments) {
      for (const std::string& size : argument.shape) {
        if (IsName(size)) (argument.direction == ir::Direction::Out ? open : known).insert(size);
      }
    }
    for (const std::string& size : known) open.erase(size);
    return open;
  }

  std::vector<std::string> OurWords() const {
    std::vector<std::string> words = {settings_.kernelc, settings_.times ? "bench" : "run",
                                      problem_.file, problem_.is_program ? "--program" : "--kernel",
                                      problem_.function};
    auto add = [&](std::string_view option, const std::string& value) {
      words.push_back(fmt::format("--{}={}", option, value));
    };
    std::set<std::string> open = SizesOfOutputs();
    for (const auto& [name, value] : Sizes()) {
      if (open.contains(name)) add("set", fmt::format("{}={}", name, value));
    }
    for (const auto& [name, value] : problem_.defines) {
      auto size = std::ranges::find(Sizes(), value, [](const auto& one) { return one.first; });
      bool is_size = size != Sizes().end();
      add("define", fmt::format("{}={}", name, is_size ? fmt::to_string(size->second) : value));
    }
    for (const SuiteArgument& argument : problem_.arguments) {
      if (argument.direction != ir::Direction::Out) {
        std::string value = argument.is_tensor ? fmt::format("@{}", PathOf(argument.name + ".npy"))
                                               : scalars_.value(argument.name, std::string("0"));
        add("arg", fmt::format("{}={}", argument.name, value));
      }
      if (argument.direction != ir::Direction::In)
        add("out", fmt::format("{}=@{}", argument.name, OutPath(argument)));
    }
    const driver::Options& options = settings_.options;
    std::ranges::move(CompilerOptions(options), std::back_inserter(words));
    if (options.allow_plugins) words.emplace_back("--allow-plugins");
    if (settings_.times) {
      add("target", settings_.target);
      add("json", PathOf("ours.json"));
      if (settings_.threads > 0) add("threads", fmt::to_string(settings_.threads));
      if (options.trials) add("trials", fmt::to_string(*options.trials));
      add("seconds", fmt::to_string(std::min<int64_t>(*options.seconds,
                                                      std::max<int64_t>(1, problem_.limit / 4))));
    } else {
      add("target", settings_.target);
      words.emplace_back("--verify");
    }
    return words;
  }

  void RunOurs() {
    ProcessResult ran = RunStep("kernelc", OurWords(), true);
    if (!ran.ok()) {
      bool is_different = std::ranges::any_of(kDifferences, [&](std::string_view text) {
        return ran.err.find(text) != std::string::npos;
      });
      ProcessRequest request;
      request.deadline_s = static_cast<double>(problem_.limit);
      if (is_different) End(Verdict::Wrong, ErrorOf(ran));
      EndAfter("kernelc", ran, request);
    }
    if (!settings_.times) return;
    Result<std::string> text = ReadFile(PathOf("ours.json"), kMostAnswer);
    if (text.ok()) row_.times = ParseBenchRow(*text);
    if (!row_.times) End(Verdict::Failed, "kernelc: bench wrote no times");
  }

  driver::HostTensor Load(const std::string& path) {
    DiagnosticEngine diagnostics;
    std::optional<driver::HostTensor> tensor = driver::ReadNpy(path, diagnostics);
    if (!tensor)
      End(Verdict::Failed, diagnostics.all().empty() ? path : diagnostics.all()[0]->text);
    return std::move(*tensor);
  }

  void Compare() {
    std::vector<driver::HostTensor> inputs;
    for (const SuiteArgument& argument : problem_.arguments) {
      if (argument.is_tensor && argument.direction != ir::Direction::Out)
        inputs.push_back(Load(PathOf(argument.name + ".npy")));
    }
    std::vector<std::string> accepted;
    std::vector<std::string> constants;
    std::vector<std::string> empty;
    row_.error = 0;
    for (const SuiteArgument& argument : problem_.arguments) {
      if (argument.direction == ir::Direction::In) continue;
      auto load = [&](std::string_view kind) {
        return Load(PathOf(fmt::format("{}.{}.npy", argument.name, kind)));
      };
      CheckedOutput output{argument.name, load("ours"), load("wide"), load("perturbed"),
                           load("same")};
      SuiteError error = WorstError(output);
      row_.error = std::max(*row_.error, error.of_bound);
      if (error.of_bound > 1) End(Verdict::Wrong, error.text);
      bool is_constant = false;
      for (const std::string& control : AcceptedControls(output, inputs, is_constant))
        accepted.push_back(fmt::format("{} of {}", control, argument.name));
      if (is_constant) constants.push_back(argument.name);
      if (output.ours.bytes.empty()) empty.push_back(argument.name);
    }
    if (!empty.empty())
      End(Verdict::Weak, fmt::format("no result is wrong: {} without elements at these sizes",
                                     fmt::join(empty, ", ")));
    if (!accepted.empty())
      End(Verdict::Weak, fmt::format("would also accept {}", fmt::join(accepted, ", ")));
    row_.verdict = Verdict::Right;
    if (!constants.empty())
      row_.note = fmt::format("constant output: {}", fmt::join(constants, ", "));
  }

  /// A baseline that cannot be measured is a note.
  void TimeBaselines() {
    for (const std::string& name : problem_.baselines) {
      BaselineTime& time = row_.baselines.emplace_back();
      time.name = name;
      std::error_code ignored;
      std::filesystem::remove(PathOf("answer.json"), ignored);
      ProcessResult ran = RunStep(name, PeerWords({"time", name}), true);
      Json answer = Answer();
      if (!ran.ok()) {
        ProcessRequest request;
        request.deadline_s = static_cast<double>(problem_.limit);
        time.note =
            ErrorOf(ran).empty() || ran.timed_out ? DescribeEnd(ran, request) : ErrorOf(ran);
        continue;
      }
      time.version = answer.value("version", std::string());
      time.note = answer.value("note", std::string());
      if (answer.contains("seconds")) time.seconds = answer["seconds"].get<double>();
      if (answer.empty()) time.note = "ended its process without an answer";
    }
  }

  const Suite& suite_;
  const SuiteProblem& problem_;
  const SuiteSettings& settings_;
  SuiteRow row_;
  std::string folder_;
  Json scalars_;
};

}  // namespace

SuiteRow KeyOf(const SuiteProblem& problem, const SuiteSettings& settings) {
  SuiteRow row;
  row.problem = problem.name;
  for (const auto& [name, value] : settings.times ? problem.scaled : problem.check)
    row.sizes += fmt::format("{}{}={}", row.sizes.empty() ? "" : " ", name, value);
  row.target = settings.target;
  row.threads = settings.threads;
  std::vector<std::string> words = CompilerOptions(settings.options);
  if (settings.options.seed) words.push_back(fmt::format("--seed={}", *settings.options.seed));
  row.options = fmt::format("{}", fmt::join(words, " "));
  return row;
}

SuiteRow RunProblem(const Suite& suite, const SuiteProblem& problem,
                    const SuiteSettings& settings) {
  return ProblemRun(suite, problem, settings).MakeRow();
}

}  // namespace kdl::tools
