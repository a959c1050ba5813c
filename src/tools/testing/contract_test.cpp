#include "tools/testing/contract_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "driver/compile/compile.h"
#include "driver/diagnostics.h"
#include "driver/report.h"
#include "driver/run/contracts.h"
#include "driver/run/select.h"
#include "driver/warnings.h"
#include "interp/contract.h"
#include "targets/kinds.h"
#include "tools/loading/loaded_kernel.h"
#include "tools/testing/draw_inputs.h"
#include "tools/testing/draw_shapes.h"
#include "tools/testing/mutants.h"
#include "tools/testing/test_items.h"
#include "tools/testing/test_names.h"
#include "tools/testing/test_targets.h"

namespace kdl::tools {

namespace {

constexpr int kShrinks = 60;
/// The number of terms of a contract up to which special inputs are tried: there are several classes of them, and values, not
/// sizes, make the difference.
constexpr double kMostSpecialTerms = 2e5;
constexpr std::chrono::seconds kLongestShrink(5);

/// A test run that failed.
struct Fault {
  Shape shape;
  InputClass input_class = InputClass::Ordinary;
  size_t target = 0;
  std::optional<int64_t> core_num;
};

/// A row of the result table.
struct Row {
  std::string kernel;
  std::string target;
  std::string cores = {};
  size_t shapes = 0;
  size_t runs = 0;
  bool ok = true;
  /// Whether every shape, or every choice of constants, was excluded. In that case, `ok` is false.
  bool empty = false;
  std::string accepted = {};  ///< wrong outputs that the contract accepts
};

std::string CoresText(std::optional<int64_t> core_num) {
  return core_num ? fmt::format("{} core{}", *core_num, *core_num == 1 ? "" : "s")
                  : std::string("the device's number of cores");
}

bool SameOutputs(const driver::BoundProgram& a, const driver::BoundProgram& b) {
  for (size_t i = 0; i < a.arguments.size(); ++i) {
    if (a.arguments[i].tensor.bytes != b.arguments[i].tensor.bytes) return false;
  }
  return true;
}

std::string CoresList(const TestTarget& target) {
  std::string text;
  for (std::optional<int64_t> core_num : target.cores)
    text += fmt::format("{}{}", text.empty() ? "" : " ",
                        core_num ? fmt::format("{}", *core_num) : "auto");
  return text;
}

/// The test of a kernel on all targets. It has a row for each target.
class KernelTest {
 public:
  KernelTest(const driver::Options& options, const std::vector<TestTarget>& targets,
             const LoadedKernel& kernel, std::vector<Row>& rows)
      : options_(options), targets_(targets), kernel_(kernel), rows_(rows) {
    DiagnosticEngine checked;  // problems have been reported when the options were read
    driver::SetWarnings(options.warnings, report_, checked);
  }

  /// Tests the shapes, and reports the first failure at the smallest shape for which it occurs. It
  /// is also a failure if inputs were found for fewer than half of the shapes, or only for shapes
  /// that contain a size of 0.
  void TestShapes() {
    Row& row = rows_[0];
    std::optional<std::vector<Shape>> shapes = Shapes();
    row.ok = shapes.has_value();
    if (!shapes) return;
    size_t last = LastSpecial(*shapes);
    for (size_t i = 0; i < shapes->size(); ++i) {
      const Shape& shape = (*shapes)[i];
      if (!TryClass(shape, InputClass::Ordinary, Cores::All)) return;
      if (i != 0 && i != last) continue;
      for (InputClass input_class : kSpecialInputClasses) {
        if (!TryClass(shape, input_class, i == 0 ? Cores::All : Cores::One)) return;
      }
    }
    row.accepted = mutants_.Accepted();
    if (!row.accepted.empty()) {
      report_
          .Report(driver::diag::WeakContract, {}, kernel_.contract().contract->function,
                  row.accepted)
          .Help("compare every element of each output: `ensures { y[i] ~ …; }`");
      row.ok = !report_.has_errors();
    }
    bool found = has_elements_ || !options_.set.empty();
    if (row.shapes > 0 && row.shapes >= undrawn_ && found) return;
    row.ok = false;
    if (first_undrawn_) {
      fault_ = Fault{*first_undrawn_, InputClass::Ordinary, 0, targets_[0].cores.front()};
      Draw(*first_undrawn_, InputClass::Ordinary, report_);
    } else if (row.shapes > 0) {
      report_.Report(driver::diag::NoElements, {}, kernel_.contract().contract->function)
          .Help(
              "the conditions contradict each other for every shape that has elements; --set tries "
              "a given shape");
    } else {
      row.empty = true;
      report_.Report(driver::diag::NoShapes, {}, kernel_.contract().contract->function);
    }
  }

  const DiagnosticEngine& report() const { return report_; }
  const std::optional<Fault>& fault() const { return fault_; }
  /// Whether the failure occurred in every try.
  bool is_steady() const { return is_steady_; }

 private:
  /// Returns the shapes to try. Reports an error and returns nothing if no shape has the sizes
  /// given with --set.
  std::optional<std::vector<Shape>> Shapes() {
    if (options_.set.empty()) return DrawShapes(kernel_, {});
    driver::Options given;  // the options that apply to this kernel
    std::vector<size_t> set;
    const std::vector<Name>& dims = kernel_.program().dims;
    for (const std::string& text : options_.set) {
      for (size_t i = 0; i < dims.size(); ++i) {
        if (text.substr(0, text.find('=')) != dims[i].text()) continue;
        given.set.push_back(text);
        set.push_back(i);
      }
    }
    auto known = driver::BindSizes(kernel_.program(), {}, given, report_);
    if (!known) return std::nullopt;
    Shape shape;
    for (size_t i : set) shape[dims[i]] = known->at(dims[i]).value;
    if (known->size() < dims.size()) return DrawShapes(kernel_, shape);
    if (!driver::BindProgram(*kernel_.contract().module, kernel_.program(), {}, given, report_))
      return std::nullopt;
    return Complete(kernel_.program(), shape) ? std::vector<Shape>{shape} : std::vector<Shape>{};
  }

  /// Returns the number of the last shape whose contract is not too long for special inputs, or 0.
  size_t LastSpecial(const std::vector<Shape>& shapes) const {
    size_t last = 0;
    for (size_t i = 0; i < shapes.size(); ++i) {
      if (TermsAt(kernel_, shapes[i]) <= kMostSpecialTerms) last = i;
    }
    return last;
  }

  /// Which of a target's numbers of cores are tried: all, or one that depends on the class of the inputs.
  enum class Cores : uint8_t { All, One };
  std::span<const std::optional<int64_t>> CoresOf(size_t target, InputClass input_class,
                                                  Cores which) const {
    std::span<const std::optional<int64_t>> cores = targets_[target].cores;
    if (which == Cores::All) return cores;
    return cores.subspan(static_cast<size_t>(input_class) % cores.size(), 1);
  }

  /// Returns false if a run with inputs of the class failed.
  bool TryClass(const Shape& shape, InputClass input_class, Cores cores) {
    DiagnosticEngine report;
    std::optional<Fault> fault = Try(shape, input_class, cores, report);
    if (!fault) return true;
    rows_[fault->target].ok = false;
    fault_ = Smallest(*fault);
    if (TryAgain(*fault_, fault_->shape, report_)) return false;
    // In the second run, the same inputs gave correct results, so keep the report of the first run.
    fault_ = fault;
    is_steady_ = false;
    report_ = std::move(report);
    return false;
  }

  Fault Smallest(Fault fault) {
    int tries = options_.set.empty() ? kShrinks : 0;
    auto end = std::chrono::steady_clock::now() + kLongestShrink;
    for (bool smaller = true; smaller;) {
      smaller = false;
      for (const Shape& shape : SmallerShapes(fault.shape)) {
        if (tries-- <= 0 || std::chrono::steady_clock::now() > end ||
            !Complete(kernel_.program(), shape))
          continue;
        DiagnosticEngine ignored;
        if (!TryAgain(fault, shape, ignored)) continue;
        fault.shape = shape;
        smaller = true;
        break;
      }
    }
    return fault;
  }

  /// Returns random arguments. Returns nothing if `requires` excludes the shape. If no valid
  /// arguments were found, reports that and returns nothing.
  std::optional<driver::BoundProgram> Draw(const Shape& shape, InputClass input_class,
                                           DiagnosticEngine& report) const {
    driver::Options options;
    for (const auto& [name, value] : shape)
      options.set.push_back(fmt::format("{}={}", name.text(), value));
    auto bound =
        driver::BindProgram(*kernel_.contract().module, kernel_.program(), {}, options, report);
    if (!bound) return std::nullopt;
    uint64_t seed = static_cast<uint64_t>(options_.seed.value_or(1));
    DrawPlan plan{kernel_.contract(), kernel_.loop_inputs(), seed};
    DrawResult drawn = DrawInputs(plan, input_class, *bound);
    if (drawn.end == DrawEnd::Done) return bound;
    if (drawn.end == DrawEnd::Failed) ReportNotDrawn(*drawn.broken, kernel_.sources(), report);
    return std::nullopt;
  }

  /// Whether the failure occurs again for this shape.
  bool TryAgain(const Fault& fault, const Shape& shape, DiagnosticEngine& report) {
    DiagnosticEngine undrawn;
    std::optional<driver::BoundProgram> before = Draw(shape, fault.input_class, undrawn);
    std::optional<driver::BoundProgram> good;
    return before && !IsRight(fault.target, fault.core_num, *before, good, report);
  }

  std::optional<Fault> Try(const Shape& shape, InputClass input_class, Cores cores,
                           DiagnosticEngine& report) {
    DiagnosticEngine undrawn;
    std::optional<driver::BoundProgram> before = Draw(shape, input_class, undrawn);
    if (!before && undrawn.has_errors()) {
      ++undrawn_;
      if (!first_undrawn_) first_undrawn_ = shape;
    }
    if (!before) return std::nullopt;
    std::optional<driver::BoundProgram> good;
    for (size_t target = 0; target < targets_.size(); ++target) {
      if (targets_[target].most_terms > 0 && TermsAt(kernel_, shape) > targets_[target].most_terms)
        continue;
      has_elements_ |= std::ranges::all_of(shape, [](const auto& size) { return size.second > 0; });
      if (input_class == InputClass::Ordinary) ++rows_[target].shapes;
      for (std::optional<int64_t> core_num : CoresOf(target, input_class, cores)) {
        ++rows_[target].runs;
        if (!IsRight(target, core_num, *before, good, report))
          return Fault{shape, input_class, target, core_num};
      }
    }
    if (input_class == InputClass::Ordinary && good)
      mutants_.Try(kernel_.contract(), *before, *good);
    return std::nullopt;
  }

  /// Runs the kernel and checks its outputs. `good` contains the first correct outputs. Outputs
  /// that are equal to them are not evaluated again.
  bool IsRight(size_t target, std::optional<int64_t> core_num, const driver::BoundProgram& before,
               std::optional<driver::BoundProgram>& good, DiagnosticEngine& report) const {
    driver::BoundProgram after = before;
    Status ran = kernel_.RunOnTarget(targets_[target].spec, core_num, after);
    if (!ran.ok()) {
      driver::ReportFailure(ran.failure(), kernel_.sources(), report);
      return false;
    }
    if (good && SameOutputs(*good, after)) return true;
    if (!driver::CheckEquations(kernel_.contract(), before, after, kernel_.sources(), report))
      return false;
    if (!good) good = std::move(after);
    return true;
  }

  const driver::Options& options_;
  const std::vector<TestTarget>& targets_;
  const LoadedKernel& kernel_;
  std::vector<Row>& rows_;
  Mutants mutants_;
  size_t undrawn_ = 0;         ///< number of shapes for which no inputs were found
  bool has_elements_ = false;  ///< whether inputs were found for a shape in which no size is 0
  std::optional<Shape> first_undrawn_;
  DiagnosticEngine report_;
  std::optional<Fault> fault_;
  bool is_steady_ = true;
};

/// The tests of one file.
class FileTest {
 public:
  FileTest(const driver::Options& options, const targets::Registry& families,
           const std::string& file)
      : options_(options), families_(families), targets_(TestTargets(options, families)) {
    options_.files = {file};
  }

  TestCounts TestKernels() {
    driver::Session session(options_, families_);
    driver::Compilation compilation = driver::Compile(session, {.until = driver::Until::Ir});
    if (!compilation.ok()) {
      driver::PrintDiagnostics(session.diagnostics, session.sources);
      return {0, 1};
    }
    std::vector<const ir::Function*> kernels;
    for (const ir::Function* function : compilation.module->functions()) {
      if (IsTested(compilation, *function)) kernels.push_back(function);
    }
    if (!KnowSizes(kernels, options_, session.diagnostics)) {
      driver::PrintDiagnostics(session.diagnostics, session.sources);
      return {0, 1};
    }
    for (const ir::Function* function : compilation.module->functions()) {
      if (IsTested(compilation, *function)) TestKernel(*function);
      if (function->kind == ir::FunctionKind::Program && function->base_name() == "test" &&
          options_.kernel.empty())
        TestItem(*function);
    }
    PrintTable();
    return counts_;
  }

  /// Adds the lines of the table as objects.
  void AddRows(nlohmann::ordered_json& rows) const {
    for (const Row& row : rows_) {
      rows.push_back({{"file", options_.files[0]},
                      {"kernel", row.kernel},
                      {"target", row.target},
                      {"cores", row.cores},
                      {"shapes", row.shapes},
                      {"runs", row.runs},
                      {"result", row.ok ? "passed" : "failed"}});
      if (!row.accepted.empty()) rows.back()["accepted"] = row.accepted;
    }
  }

 private:
  bool IsTested(const driver::Compilation& compilation, const ir::Function& function) const {
    bool asked = options_.kernel.empty() || driver::IsNamed(function, options_.kernel);
    auto contract = driver::FindContract(compilation.contracts.list, *compilation.module, function);
    asked = asked && !driver::IsLeftOut(function, options_);
    return function.kind == ir::FunctionKind::Kernel && asked && contract &&
           std::any_of(contract->contract->equations.begin(), contract->contract->equations.end(),
                       [](const ir::Clause& equation) { return !equation.defines; });
  }

  // The number of choices to try for integer generics, which a caller's tensors would normally
  // determine.
  static constexpr size_t kChoices = 3;

  /// Returns the choices of values for the `int` generics that have no value yet, in the order in
  /// which they are tried. Several choices are needed because a kernel may exclude some of them. If
  /// the kernel lists the allowed values, there are fewer choices.
  static std::vector<KernelChoice> Choices(const ir::Function& function) {
    constexpr std::array<std::array<int64_t, 4>, 7> kValues = {{{3, 2, 1, 2},
                                                                {1, 1, 1, 1},
                                                                {16, 3, 2, 1},
                                                                {5, 5, 5, 5},
                                                                {2, 4, 2, 4},
                                                                {8, 8, 8, 8},
                                                                {64, 32, 64, 32}}};
    std::vector<KernelChoice> choices;
    std::set<std::vector<std::pair<std::string, int64_t>>> seen;
    for (const auto& values : kValues) {
      KernelChoice choice{function.name.str(), {}};
      size_t open = 0;
      for (const ir::Generic& generic : function.generics) {
        if (generic.is_auto || generic.values.size() == 1) continue;
        const std::vector<int64_t>& listed =
            generic.values.empty() ? generic.choices : generic.values;
        int64_t value =
            listed.empty() ? values[open % values.size()] : listed[choices.size() % listed.size()];
        choice.constants.emplace_back(generic.name.str(), value);
        ++open;
      }
      if (seen.insert(choice.constants).second) choices.push_back(std::move(choice));
    }
    return choices;
  }

  void TestKernel(const ir::Function& function) {
    std::vector<Row> rows;
    std::vector<KernelChoice> choices = Choices(function);
    size_t tried = 0;
    for (size_t i = 0; i < choices.size() && tried < kChoices; ++i) {
      bool is_empty = true;
      for (const std::vector<TestTarget>& targets : Compiles()) {
        // Report impossible constants only if no choice was possible.
        bool last = i + 1 == choices.size() && rows.empty();
        std::vector<Row> made = TestWith(function, choices[i], targets, last);
        is_empty = is_empty && made[0].empty;
        if (!made[0].empty || last) rows.insert(rows.end(), made.begin(), made.end());
      }
      tried += is_empty ? 0 : 1;
    }
    bool ok = std::all_of(rows.begin(), rows.end(), [](const Row& row) { return row.ok; });
    ++(ok ? counts_.passed : counts_.failed);
    rows_.insert(rows_.end(), rows.begin(), rows.end());
  }

  void TestItem(const ir::Function& function) {
    bool all = true;
    std::vector<ItemResult> results;
    for (const std::vector<TestTarget>& targets : Compiles()) {
      auto made = RunTestItem(options_, families_, function.name.str(), TargetSpecs(targets));
      results.insert(results.end(), made.begin(), made.end());
    }
    for (const ItemResult& result : results) {
      Row row{fmt::format("test \"{}\"", function.doc), result.target};
      row.runs = 1;
      row.ok = result.ok;
      if (!row.ok) driver::PrintOutput(fmt::format("FAILED: {} on {}\n", row.kernel, row.target));
      all = all && row.ok;
      rows_.push_back(std::move(row));
    }
    ++(all ? counts_.passed : counts_.failed);
  }

  /// Returns the targets grouped by compilation. Targets from the options are compiled separately,
  /// each with its own keys. All default targets share one compilation.
  std::vector<std::vector<TestTarget>> Compiles() const {
    if (options_.target.empty()) return {targets_};
    std::vector<std::vector<TestTarget>> each;
    for (const TestTarget& target : targets_) each.push_back({target});
    return each;
  }

  std::vector<Row> TestWith(const ir::Function& function, const KernelChoice& choice,
                            const std::vector<TestTarget>& targets, bool prints_empty) {
    std::vector<Row> rows;
    for (const TestTarget& target : targets) {
      Row row{choice.instance, target.spec, CoresList(target)};
      for (const auto& [name, value] : choice.constants)
        row.kernel += fmt::format(" {}={}", name, value);
      rows.push_back(std::move(row));
    }
    LoadedKernel kernel(options_, families_, choice, TargetSpecs(targets));
    if (!kernel.ok()) {
      rows.resize(1);
      rows[0].ok = false;
      rows[0].empty = kernel.excludes_constants();
      if (!rows[0].empty || prints_empty)
        driver::PrintDiagnostics(kernel.diagnostics(), kernel.sources());
      if (rows[0].empty && prints_empty)
        driver::PrintOutput(
            "help: this excludes all constants that were tried; give others with -D\n");
      return rows;
    }
    KernelTest test(options_, targets, kernel, rows);
    test.TestShapes();
    bool ok = std::all_of(rows.begin(), rows.end(), [](const Row& row) { return row.ok; });
    // Remove the rows of targets on which nothing ran.
    rows.erase(
        std::remove_if(rows.begin() + 1, rows.end(), [](const Row& row) { return row.runs == 0; }),
        rows.end());
    if (ok) driver::PrintDiagnostics(test.report(), kernel.sources());
    if (!ok && (!rows[0].empty || prints_empty)) {
      size_t at = test.fault() ? test.fault()->target : 0;
      Print(function, choice, targets[at].spec, kernel, test);
    }
    return rows;
  }

  void Print(const ir::Function& function, const KernelChoice& choice, const std::string& target,
             const LoadedKernel& kernel, const KernelTest& test) const {
    std::string rerun =
        fmt::format("kernelc test {} --kernel {}", options_.files[0], function.base_name());
    for (const ir::TypeBinding& binding : function.bindings)
      rerun += fmt::format(" -D {}={}", binding.name.text(), Spelling(binding.scalar));
    for (const auto& [name, value] : choice.constants)
      rerun += fmt::format(" -D {}={}", name, value);
    std::string text = fmt::format("FAILED: {} on {}", choice.instance, target);
    if (const std::optional<Fault>& fault = test.fault()) {
      text += fmt::format(", {}", CoresText(fault->core_num));
      if (!fault->shape.empty()) text += fmt::format(", {}", ShapeText(fault->shape));
      if (fault->input_class != InputClass::Ordinary)
        text += fmt::format(", {}", Describe(fault->input_class));
      for (const auto& [name, value] : fault->shape)
        rerun += fmt::format(" --set {}={}", name.text(), value);
      if (fault->core_num) rerun += fmt::format(" --core-num {}", *fault->core_num);
    } else {
      for (const std::string& size : options_.set) rerun += fmt::format(" --set {}", size);
    }
    if (target != targets::kOwnKind) rerun += fmt::format(" --target '{}'", target);
    if (options_.seed) rerun += fmt::format(" --seed {}", *options_.seed);
    if (!test.is_steady()) text += "; the same inputs were right when tried again";
    driver::PrintOutput(text + "\n");
    driver::PrintDiagnostics(test.report(), kernel.sources());
    driver::PrintOutput(fmt::format("rerun: {}\n", rerun));
  }

  static std::string ResultText(const Row& row) {
    if (!row.ok) return "FAILED";
    return row.accepted.empty() ? "ok" : fmt::format("ok, but would accept {}", row.accepted);
  }

  void PrintTable() const {
    if (rows_.empty()) return;
    size_t name = 6;
    size_t target = 6;
    size_t cores = 5;
    for (const Row& row : rows_) {
      name = std::max(name, row.kernel.size());
      target = std::max(target, row.target.size());
      cores = std::max(cores, row.cores.size());
    }
    std::string text = fmt::format("{:<{}}  {:<{}}  {:<{}}  {:>6}  {:>5}  result\n", "kernel", name,
                                   "target", target, "cores", cores, "shapes", "runs");
    for (const Row& row : rows_)
      text +=
          fmt::format("{:<{}}  {:<{}}  {:<{}}  {:>6}  {:>5}  {}\n", row.kernel, name, row.target,
                      target, row.cores, cores, row.shapes, row.runs, ResultText(row));
    driver::PrintOutput(text);
  }

  driver::Options options_;
  const targets::Registry& families_;
  std::vector<TestTarget> targets_;
  std::vector<Row> rows_;
  TestCounts counts_;
};

}  // namespace

TestCounts TestContracts(const driver::Options& options, const targets::Registry& families,
                         const std::string& file, nlohmann::ordered_json& rows) {
  FileTest test(options, families, file);
  TestCounts counts = test.TestKernels();
  test.AddRows(rows);
  return counts;
}

}  // namespace kdl::tools
