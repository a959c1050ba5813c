#include "driver/run/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "driver/diagnostics.h"
#include "driver/run/argument_values.h"
#include "driver/run/sizes.h"
#include "driver/run/source_types.h"
#include "ir/optional_params.h"
#include "ir/program_tensors.h"
#include "ir/requirement.h"
#include "support/machine.h"
#include "support/near_names.h"

namespace kdl::driver {

namespace {

std::string ParameterNames(const ir::Function& program) {
  std::vector<std::string_view> names;
  for (const ir::Param& param : program.params) names.push_back(param.value->name().text());
  return names.empty() ? "no parameters" : QuotedList(names);
}

bool Mentions(Size size, Name name) {
  if (size->lhs == nullptr) return size->kind == SizeKind::Symbol && size->symbol == name;
  return Mentions(size->lhs, name) || Mentions(size->rhs, name);
}

/// Solves `side = other` for `dim`. Returns an empty string if `side` contains operations other
/// than sums and differences.
std::string Solved(Size side, Name dim, const std::string& other) {
  if (side->kind == SizeKind::Symbol) return other;
  if (side->kind != SizeKind::Add && side->kind != SizeKind::Sub) return {};
  bool on_left = Mentions(side->lhs, dim);
  if (on_left && Mentions(side->rhs, dim)) return {};
  Size rest = on_left ? side->rhs : side->lhs;
  bool is_sum = rest->kind == SizeKind::Add || rest->kind == SizeKind::Sub;
  std::string amount = is_sum ? fmt::format("({})", SourceText(rest)) : SourceText(rest);
  if (on_left)
    return Solved(side->lhs, dim,
                  fmt::format("{} {} {}", other, side->kind == SizeKind::Add ? '-' : '+', amount));
  bool subtracts = side->kind == SizeKind::Sub;
  return Solved(
      side->rhs, dim,
      subtracts ? fmt::format("{} - ({})", amount, other) : fmt::format("{} - {}", other, amount));
}

/// Which tensors get elements. The others only get shapes.
enum class Elements : uint8_t { All, NotDistributed, None };

/// Binds the parameters of one program to arguments.
class Binder {
 public:
  Binder(const ir::Function& program, const std::vector<ArgumentSpec>& arguments, Elements elements,
         const ArgumentValues& values, DiagnosticEngine& diagnostics)
      : program_(program),
        elements_(elements),
        arguments_(arguments),
        values_(values),
        diagnostics_(diagnostics) {}

  /// Checks that no two --arg options and no two --out options name the same parameter, and that
  /// each option is meaningful for its parameter.
  void CheckNames(const Options& options) {
    std::set<std::string> given;
    for (const ArgumentSpec& argument : arguments_) {
      const ir::Param* param = Find(argument.name);
      if (!param) {
        ReportUnknown(argument.name);
      } else if (!given.insert(argument.name).second) {
        diagnostics_.Report(diag::ArgumentTwice, {}, argument.name).Help("remove one --arg");
      } else if (argument.kind == ArgumentSpec::Kind::None) {
        CheckNone(*param);
      } else if (param->direction == ir::Direction::Out) {
        diagnostics_.Report(diag::ArgumentForOut, {}, argument.name)
            .Help(fmt::format("remove --arg {}, or declare the parameter `inout`", argument.name));
      }
    }
    for (const std::string& text : options.out) {
      if (auto out = SplitAssignment("--out", text, "--out y=@y.npy", diagnostics_))
        AddOut(std::move(*out));
    }
  }

  void CheckSizes(const SizeValues& values) {
    for (Name dim : program_.dims) {
      if (!values.contains(dim)) ReportUnbound(dim, values);
    }
  }

  /// Whether all sizes of the parameters are nonnegative and the parameters fit in memory. Reports
  /// the first parameter that violates this.
  bool CheckShapes(const SizeValues& values) {
    int64_t most = PhysicalMemoryBytes();
    int64_t left = most;
    for (const ir::Param& param : program_.params) {
      std::string_view name = param.value->name().text();
      std::vector<int64_t> shape = ShapeOf(param, values);
      auto negative =
          std::find_if(shape.begin(), shape.end(), [](int64_t size) { return size < 0; });
      if (negative != shape.end()) {
        diagnostics_.Report(diag::NegativeSize, {}, name, ParameterType(param), Where(values),
                            *negative);
        return false;
      }
      std::optional<int64_t> count = ElementCount(param.value->type()->scalar, shape);
      if (!count) {
        diagnostics_.Report(diag::SizeOverflow, {}, name, ParameterType(param), Where(values));
        return false;
      }
      if (!HasElements(param)) continue;
      left -= std::min(left, *count * Bytes(param.value->type()->scalar));
      if (left > 0) continue;
      diagnostics_.Report(diag::NoMemory, {}, name, ParameterType(param), Where(values), most);
      return false;
    }
    return true;
  }

  BoundProgram Bind(const SizeValues& values) {
    BoundProgram bound;
    for (Name dim : program_.dims) {
      auto known = values.find(dim);
      bound.dims.push_back(known == values.end() ? 0 : known->second.value);
    }
    for (size_t i = 0; i < program_.params.size(); ++i)
      bound.arguments.push_back(BindOne(program_.params[i], i, values));
    return bound;
  }

 private:
  const ir::Param* Find(std::string_view name) const {
    for (const ir::Param& param : program_.params) {
      if (param.value->name().text() == name) return &param;
    }
    return nullptr;
  }

  void CheckNone(const ir::Param& param) {
    if (ir::Presence(program_, param)) return;
    diagnostics_
        .Report(diag::BadArgument, {}, "none", param.value->name().str(), ParameterType(param))
        .Help(ArgumentValues::HelpFor(param));
  }

  void ReportUnknown(std::string_view name) {
    std::vector<std::string_view> names;
    for (const ir::Param& param : program_.params) names.push_back(param.value->name().text());
    Diagnostic& report = diagnostics_.Report(diag::UnknownParameter, {}, program_.base_name(), name,
                                             ParameterNames(program_));
    std::string_view nearest = NearestName(name, names);
    if (!nearest.empty()) report.Help(fmt::format("did you mean '{}'?", nearest));
  }

  void AddOut(Assignment out) {
    const ir::Param* param = Find(out.name);
    if (!param) {
      ReportUnknown(out.name);
    } else if (param->direction == ir::Direction::In) {
      diagnostics_.Report(diag::OutOfInput, {}, out.name)
          .Help("use --out with parameters that are `out` or `inout`");
    } else if (!out.value.starts_with('@') || out.value.size() == 1) {
      diagnostics_.Report(diag::OutNotFile, {}, out.name, out.value)
          .Help(fmt::format("--out {}=@{}.npy", out.name, out.name));
    } else if (!out_paths_.emplace(out.name, out.value.substr(1)).second) {
      diagnostics_.Report(diag::ArgumentTwice, {}, out.name).Help("remove one --out");
    }
  }

  /// Suggests how to determine an unknown size with a `where` equation: by giving the other sizes
  /// in the equation, or by writing the equation so that it computes the unknown. Returns an empty
  /// string if no equation helps.
  std::string EquationFor(Name dim, const SizeValues& values) const {
    for (const ir::Op* op : ir::RequirementsOf(program_)) {
      if (op->attr<ir::AttrKey::Compare>() != ir::CompareKind::Eq) continue;
      Size left = op->attr<ir::AttrKey::Left>();
      Size right = op->attr<ir::AttrKey::Right>();
      if (Mentions(left, dim) == Mentions(right, dim)) continue;
      if (Mentions(right, dim)) std::swap(left, right);
      if (left->kind != SizeKind::Symbol) {
        std::string solved = Solved(left, dim, SourceText(right));
        if (!solved.empty()) return fmt::format(", or write `where {} == {}`", dim.text(), solved);
        continue;
      }
      std::string missing;
      for (Name name : program_.dims) {
        if (!values.contains(name) && Mentions(right, name))
          missing += fmt::format("{}--set {}=64", missing.empty() ? "" : " ", name.text());
      }
      if (missing.empty()) continue;
      return fmt::format(", or give the sizes from which `where {}` computes it: {}",
                         op->attr<ir::AttrKey::Text>().text(), missing);
    }
    return {};
  }

  void ReportUnbound(Name dim, const SizeValues& values) {
    Diagnostic& report =
        diagnostics_.Report(diag::SizeUnbound, {}, dim.text(), program_.base_name());
    std::string help =
        fmt::format("give it with --set {}=64{}", dim.text(), EquationFor(dim, values));
    for (const ir::Param& param : program_.params) {
      bool bare = false;
      for (Size size : param.value->type()->dims)
        bare = bare || (size->kind == SizeKind::Symbol && size->symbol == dim);
      if (!bare || param.direction == ir::Direction::Out) continue;
      report.Help(fmt::format("{0}, or an array with --arg {1}=@{1}.npy", help,
                              param.value->name().text()));
      return;
    }
    report.Help(help);
  }

  BoundArgument BindOne(const ir::Param& param, size_t index, const SizeValues& values) {
    BoundArgument bound;
    bound.name = param.value->name().str();
    bound.direction = param.direction;
    bound.is_tensor = IsTensor(param);
    bound.is_absent = ir::IsAbsent(program_, param);
    bound.tensor.scalar = param.value->type()->scalar;
    if (auto out = out_paths_.find(bound.name); out != out_paths_.end())
      bound.out_path = out->second;
    bound.tensor.shape = ShapeOf(param, values);
    bound.distribution = ir::DistributionOfParam(param.value);
    if (HasElements(param)) values_.Store(index, bound);
    return bound;
  }

  bool HasElements(const ir::Param& param) const {
    if (!IsTensor(param) || elements_ == Elements::All) return true;
    return elements_ == Elements::NotDistributed && ir::DistributionOfParam(param.value).empty();
  }

  static std::vector<int64_t> ShapeOf(const ir::Param& param, const SizeValues& values) {
    std::vector<int64_t> shape;
    for (Size size : param.value->type()->dims)
      shape.push_back(SizeValue(size, values).value_or(0));
    return shape;
  }

  /// Returns the sizes as ` with M = 3, N = 4`.
  static std::string Where(const SizeValues& values) {
    std::string text;
    for (const auto& [name, size] : values) {
      text += fmt::format("{}{} = {}", text.empty() ? " with " : ", ", name.text(), size.value);
    }
    return text;
  }

  const ir::Function& program_;
  Elements elements_;
  const std::vector<ArgumentSpec>& arguments_;
  const ArgumentValues& values_;
  DiagnosticEngine& diagnostics_;
  std::map<std::string, std::string> out_paths_;
};

std::optional<BoundProgram> Bind(const ir::Function& program,
                                 const std::vector<ArgumentSpec>& arguments, const Options& options,
                                 Elements elements, const ArgumentValues& argument_values,
                                 DiagnosticEngine& diagnostics) {
  size_t errors_before = diagnostics.error_count();
  Binder binder(program, arguments, elements, argument_values, diagnostics);
  binder.CheckNames(options);
  std::optional<SizeValues> values = BindSizes(program, arguments, options, diagnostics);
  if (values) binder.CheckSizes(*values);
  if (diagnostics.error_count() != errors_before || !binder.CheckShapes(*values))
    return std::nullopt;
  BoundProgram bound = binder.Bind(*values);
  if (diagnostics.error_count() != errors_before) return std::nullopt;
  return bound;
}

}  // namespace

std::optional<BoundProgram> BindProgram(const ir::Module& module, const ir::Function& program,
                                        const std::vector<ArgumentSpec>& arguments,
                                        const Options& options, DiagnosticEngine& diagnostics) {
  ArgumentValues values(module, program, arguments, diagnostics);
  return Bind(program, arguments, options, Elements::All, values, diagnostics);
}

std::optional<BoundProgram> BindShared(const ir::Function& program,
                                       const std::vector<ArgumentSpec>& arguments,
                                       const Options& options, const ArgumentValues& values,
                                       DiagnosticEngine& diagnostics) {
  return Bind(program, arguments, options, Elements::NotDistributed, values, diagnostics);
}

std::optional<BoundProgram> BindNumbers(const ir::Module& module, const ir::Function& program,
                                        const std::vector<ArgumentSpec>& arguments,
                                        const Options& options, DiagnosticEngine& diagnostics) {
  ArgumentValues values(module, program, arguments, diagnostics);
  return Bind(program, arguments, options, Elements::None, values, diagnostics);
}

}  // namespace kdl::driver
