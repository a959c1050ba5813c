#include "tools/contract_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "driver/compile.h"
#include "driver/contracts.h"
#include "driver/diagnostics.h"
#include "driver/report.h"
#include "interp/contract.h"
#include "tools/draw_inputs.h"
#include "tools/draw_shapes.h"
#include "tools/loaded_kernel.h"
#include "tools/mutants.h"
#include "tools/test_items.h"

namespace kdl::tools {

namespace {

constexpr std::array<std::optional<int64_t>, 5> kCores = {1, 2, 3, 1000, std::nullopt};
constexpr int kShrinks = 60;

/// A run that went wrong.
struct Fault {
  Shape shape;
  InputClass input_class = InputClass::Ordinary;
  std::optional<int64_t> core_num;
};

/// A line of the table.
struct Row {
  std::string kernel;
  std::string target;
  size_t shapes = 0;
  size_t runs = 0;
  bool ok = true;
  bool empty = false;         ///< no shape was found, which is not `ok`
  std::string accepted = {};  ///< wrong outputs that the contract does not tell from right ones
};

std::string CoresText(std::optional<int64_t> core_num) {
  return core_num ? fmt::format("{} core{}", *core_num, *core_num == 1 ? "" : "s")
                  : std::string("as many cores as the device likes");
}

bool SameOutputs(const driver::BoundProgram& a, const driver::BoundProgram& b) {
  for (size_t i = 0; i < a.arguments.size(); ++i) {
    if (a.arguments[i].tensor.bytes != b.arguments[i].tensor.bytes) return false;
  }
  return true;
}

/// One kernel on one target.
class KernelTest {
 public:
  KernelTest(const driver::Options& options, const LoadedKernel& kernel, Row& row)
      : options_(options), kernel_(kernel), row_(row) {
    cores_.assign(kCores.begin(), kCores.end());
    if (options.core_num) cores_ = {*options.core_num};
  }

  /// Reports the first fault, at the smallest shape that was found for it. Where inputs were found for fewer than half of
  /// the shapes, that is one.
  void Run() {
    std::vector<Shape> shapes = Shapes();
    for (size_t i = 0; i < shapes.size(); ++i) {
      bool special = i == 0 || i + 1 == shapes.size();
      if (!TryAll(shapes[i], special)) return;
    }
    row_.accepted = mutants_.Accepted();
    if (row_.shapes > 0 && row_.shapes >= undrawn_) return;
    row_.ok = false;
    if (first_undrawn_) {
      fault_ = Fault{*first_undrawn_, InputClass::Ordinary, cores_.front()};
      Draw(*first_undrawn_, InputClass::Ordinary, report_);
    } else {
      row_.empty = true;
      report_.Report(driver::diag::NoShapes, {}, kernel_.contract().contract->function);
    }
  }

  const DiagnosticEngine& report() const { return report_; }
  const std::optional<Fault>& fault() const { return fault_; }

 private:
  std::vector<Shape> Shapes() const {
    if (options_.set.empty()) return DrawShapes(kernel_);
    Shape shape;
    for (Name dim : kernel_.program().dims) {
      for (const std::string& text : options_.set) {
        size_t equals = text.find('=');
        if (text.substr(0, equals) == dim.text() && equals != std::string::npos)
          shape[dim] = std::atoll(text.c_str() + equals + 1);
      }
    }
    return Complete(kernel_.program(), shape) ? std::vector<Shape>{shape} : std::vector<Shape>{};
  }

  bool TryAll(const Shape& shape, bool special) {
    constexpr InputClass kClasses[] = {InputClass::Ordinary, InputClass::MinusInfinity,
                                       InputClass::PlusInfinity, InputClass::NaN};
    for (InputClass input_class : kClasses) {
      if (input_class != InputClass::Ordinary && !special) continue;
      DiagnosticEngine report;
      std::optional<Fault> fault = Try(shape, input_class, cores_, report);
      if (!fault) continue;
      row_.ok = false;
      fault_ = Smallest(*fault);
      Try(fault_->shape, input_class, {fault_->core_num}, report_);
      return false;
    }
    return true;
  }

  Fault Smallest(Fault fault) {
    int tries = options_.set.empty() ? kShrinks : 0;
    for (bool smaller = true; smaller;) {
      smaller = false;
      for (const Shape& shape : SmallerShapes(fault.shape)) {
        if (tries-- <= 0 || !Complete(kernel_.program(), shape)) continue;
        DiagnosticEngine ignored;
        std::optional<Fault> found = Try(shape, fault.input_class, {fault.core_num}, ignored);
        if (!found) continue;
        fault = *found;
        smaller = true;
        break;
      }
    }
    return fault;
  }

  /// The drawn arguments; nothing where `requires` leaves none. Reports where none were found.
  std::optional<driver::BoundProgram> Draw(const Shape& shape, InputClass input_class,
                                           DiagnosticEngine& report) const {
    driver::Options options;
    for (const auto& [name, value] : shape)
      options.set.push_back(fmt::format("{}={}", name.text(), value));
    auto bound = driver::BindProgram(kernel_.program(), {}, options, report);
    if (!bound) return std::nullopt;
    uint64_t seed = static_cast<uint64_t>(options_.seed.value_or(1));
    DrawResult drawn = DrawInputs(kernel_.contract(), seed, input_class, *bound);
    if (drawn.end == DrawEnd::Done) return bound;
    if (drawn.end == DrawEnd::Failed) {
      report.Report(driver::diag::InputsNotDrawn, drawn.broken->span, drawn.broken->text)
          .Help(
              "state bounds as `0 <= x[i] && x[i] < N`, order as `x[i] <= x[i + 1]`, fixed "
              "elements as `x[0] == 0`");
    }
    return std::nullopt;
  }

  std::optional<Fault> Try(const Shape& shape, InputClass input_class,
                           const std::vector<std::optional<int64_t>>& cores,
                           DiagnosticEngine& report) {
    DiagnosticEngine undrawn;
    std::optional<driver::BoundProgram> before = Draw(shape, input_class, undrawn);
    if (!before && undrawn.has_errors()) {
      ++undrawn_;
      if (!first_undrawn_) first_undrawn_ = shape;
    }
    if (!before) return std::nullopt;
    if (input_class == InputClass::Ordinary) ++row_.shapes;
    std::optional<driver::BoundProgram> good;
    for (std::optional<int64_t> core_num : cores) {
      driver::BoundProgram after = *before;
      ++row_.runs;
      Status ran = kernel_.Run(core_num, after);
      if (!ran.ok()) {
        report.Report(driver::diag::TestRunFailed, {}, ran.failure().message);
        return Fault{shape, input_class, core_num};
      }
      if (good && SameOutputs(*good, after)) continue;
      if (!driver::CheckEquations(kernel_.contract(), *before, after, report))
        return Fault{shape, input_class, core_num};
      if (!good) good = std::move(after);
    }
    if (input_class == InputClass::Ordinary && good)
      mutants_.Try(kernel_.contract(), *before, *good);
    return std::nullopt;
  }

  const driver::Options& options_;
  const LoadedKernel& kernel_;
  Row& row_;
  std::vector<std::optional<int64_t>> cores_;
  Mutants mutants_;
  size_t undrawn_ = 0;  ///< shapes for which no inputs were found
  std::optional<Shape> first_undrawn_;
  DiagnosticEngine report_;
  std::optional<Fault> fault_;
};

/// The tests of one file.
class FileTest {
 public:
  FileTest(const driver::Options& options, const std::string& file) : options_(options) {
    options_.files = {file};
    options_.target.clear();
    targets_ = options.target.empty() ? std::vector<std::string>{"host"} : options.target;
  }

  TestCounts Run() {
    driver::Compilation compilation(options_);
    if (driver::CompileToIr(compilation) != driver::PipelineEnd::Done) {
      driver::PrintDiagnostics(compilation.diagnostics, compilation.sources, options_.diag_format);
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

 private:
  bool IsTested(const driver::Compilation& compilation, const ir::Function& function) const {
    bool asked = options_.kernel.empty() || function.base_name() == options_.kernel;
    auto contract = driver::FindContract(compilation.contracts, *compilation.module, function);
    return function.kind == ir::FunctionKind::Kernel && asked && contract &&
           std::any_of(contract->contract->equations.begin(), contract->contract->equations.end(),
                       [](const ir::ContractEquation& equation) { return !equation.defines; });
  }

  /// Values for the integers that a caller's tensors would give: three choices, fewer where the kernel lists them.
  static std::vector<KernelChoice> Choices(const ir::Function& function) {
    constexpr std::array<std::array<int64_t, 4>, 3> kValues = {
        {{3, 2, 1, 2}, {1, 1, 1, 1}, {16, 3, 2, 1}}};
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
    for (size_t i = 0; i < choices.size(); ++i) {
      for (const std::string& target : targets_) {
        // Sizes that go with some of the integers are enough.
        bool last = i + 1 == choices.size() && rows.empty();
        Row row = TestOn(function, choices[i], target, last);
        if (!row.empty || last) rows.push_back(std::move(row));
      }
    }
    bool ok = std::all_of(rows.begin(), rows.end(), [](const Row& row) { return row.ok; });
    ++(ok ? counts_.passed : counts_.failed);
    rows_.insert(rows_.end(), rows.begin(), rows.end());
  }

  void TestItem(const ir::Function& function) {
    bool ok = true;
    for (const std::string& target : targets_) {
      driver::Options options = options_;
      options.target = {target};
      Row row{fmt::format("test \"{}\"", function.doc), target};
      row.runs = 1;
      row.ok = RunTestItem(options, function.name.str());
      if (!row.ok) driver::PrintOutput(fmt::format("FAILED: {} on {}\n", row.kernel, target));
      ok = ok && row.ok;
      rows_.push_back(std::move(row));
    }
    ++(ok ? counts_.passed : counts_.failed);
  }

  Row TestOn(const ir::Function& function, const KernelChoice& choice, const std::string& target,
             bool prints_empty) {
    Row row{choice.instance, target};
    for (const auto& [name, value] : choice.constants)
      row.kernel += fmt::format(" {}={}", name, value);
    driver::Options options = options_;
    options.target = {target};
    LoadedKernel kernel(options, choice);
    if (!kernel.ok()) {
      driver::PrintDiagnostics(kernel.diagnostics(), kernel.sources(), options_.diag_format);
      row.ok = false;
      return row;
    }
    KernelTest test(options_, kernel, row);
    test.Run();
    if (!row.ok && (!row.empty || prints_empty)) Print(function, choice, target, kernel, test);
    return row;
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
    }
    if (target != "host") rerun += fmt::format(" --target '{}'", target);
    if (options_.seed) rerun += fmt::format(" --seed {}", *options_.seed);
    driver::PrintOutput(text + "\n");
    driver::PrintDiagnostics(test.report(), kernel.sources(), options_.diag_format);
    driver::PrintOutput(fmt::format("rerun: {}\n", rerun));
  }

  static std::string ResultOf(const Row& row) {
    if (!row.ok) return "FAILED";
    return row.accepted.empty() ? "ok" : fmt::format("ok, but would accept {}", row.accepted);
  }

  void PrintTable() const {
    if (rows_.empty()) return;
    size_t name = 6;
    size_t target = 6;
    for (const Row& row : rows_) {
      name = std::max(name, row.kernel.size());
      target = std::max(target, row.target.size());
    }
    std::string text = fmt::format("{:<{}}  {:<{}}  {:>6}  {:>5}  result\n", "kernel", name,
                                   "target", target, "shapes", "runs");
    for (const Row& row : rows_)
      text += fmt::format("{:<{}}  {:<{}}  {:>6}  {:>5}  {}\n", row.kernel, name, row.target,
                          target, row.shapes, row.runs, ResultOf(row));
    driver::PrintOutput(text);
  }

  driver::Options options_;
  std::vector<std::string> targets_;
  std::vector<Row> rows_;
  TestCounts counts_;
};

}  // namespace

TestCounts TestContracts(const driver::Options& options, const std::string& file) {
  return FileTest(options, file).Run();
}

}  // namespace kdl::tools
