#include "driver/run/sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <system_error>

#include "driver/diagnostics.h"
#include "driver/run/npy.h"
#include "driver/run/source_types.h"
#include "ir/diagnostics.h"
#include "ir/identity.h"
#include "ir/requirement.h"
#include "support/check.h"
#include "support/near_names.h"
#include "support/size.h"

namespace kdl::driver {

namespace {

/// Returns the names that --set may give: sizes, and constants that are not yet bound.
std::vector<std::string_view> Settable(const ir::Function& function) {
  std::vector<std::string_view> names;
  for (Name dim : function.dims) names.push_back(dim.text());
  for (const ir::Generic& generic : function.generics) {
    if (generic.values.empty() && !generic.is_auto) names.push_back(generic.name.text());
  }
  return names;
}

/// Suggests the separate options that the user meant by `--set M=16,N=64`.
std::string OneByOne(const Assignment& assignment) {
  std::string written =
      fmt::format("use a separate --set for each size: --set {}=", assignment.name);
  for (char c : assignment.value) {
    if (c == ',')
      written += " --set ";
    else
      written += c;
  }
  return written;
}

class SizeBinder {
 public:
  SizeBinder(const ir::Function& function, DiagnosticEngine& diagnostics)
      : function_(function), diagnostics_(diagnostics) {}

  void Set(const Assignment& assignment) {
    std::vector<std::string_view> names = Settable(function_);
    if (std::find(names.begin(), names.end(), assignment.name) == names.end())
      return ReportUnknown(assignment.name, names);
    const std::string& text = assignment.value;
    int64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 0) {
      diagnostics_.Report(diag::BadSize, {}, text, assignment.name)
          .Help(text.find('=') == std::string::npos
                    ? fmt::format("a size is a whole number, 0 or more: --set {}=512",
                                  assignment.name)
                    : OneByOne(assignment));
      return;
    }
    Bind(InternedName(assignment.name), {value, "--set"});
  }

  /// Binds the constants of a program.
  void BindConstants() {
    if (function_.kind != ir::FunctionKind::Program) return;
    for (const ir::Generic& generic : function_.generics) {
      bool is_constant = generic.values.size() == 1 && generic.name.text() != ir::kIdentity;
      if (is_constant) Bind(generic.name, {generic.values[0], "-D or its default"});
    }
  }

  /// Binds each name that is by itself a dimension of the parameter's type, such as M in `f32[M]`.
  void BindShape(const ir::Param& param, const ArgumentSpec& argument) {
    const std::vector<Size>& dims = param.value->type()->dims;
    const std::vector<int64_t>& shape = argument.file.shape;
    if (dims.size() != shape.size()) return ReportRank(param, argument);
    for (size_t i = 0; i < dims.size(); ++i) {
      if (dims[i]->kind != SizeKind::Symbol) continue;
      Bind(dims[i]->symbol,
           {shape[i], fmt::format("dimension {} of {} ({})", i, argument.name, argument.text)});
    }
  }

  /// Checks the other dimensions, which are expressions. All names in them must already be bound.
  void CheckShape(const ir::Param& param, const ArgumentSpec& argument) {
    const std::vector<Size>& dims = param.value->type()->dims;
    const std::vector<int64_t>& shape = argument.file.shape;
    for (size_t i = 0; i < dims.size() && dims.size() == shape.size(); ++i) {
      std::optional<int64_t> needed = SizeValue(dims[i], values_);
      if (dims[i]->kind == SizeKind::Symbol || !needed || *needed == shape[i]) continue;
      Diagnostic& report =
          diagnostics_.Report(diag::DimensionConflict, {}, argument.path, shape[i],
                              static_cast<int64_t>(i), argument.name, ParameterType(param));
      if (!IsConstant(dims[i]))
        report.Help(fmt::format("{} is {} here", SourceText(dims[i]), *needed));
    }
  }

  /// Derives unknown sizes from equations, such as OH from `OH == (H - KH) / S + 1`.
  void BindEquations() {
    for (bool progress = true; progress;) {
      progress = false;
      for (const ir::Op* op : ir::RequirementsOf(function_)) {
        if (op->attr<ir::AttrKey::Compare>() != ir::CompareKind::Eq) continue;
        Size left = op->attr<ir::AttrKey::Left>();
        Size right = op->attr<ir::AttrKey::Right>();
        progress |= BindEquation(left, right, *op) || BindEquation(right, left, *op);
      }
    }
  }

  /// Reports equations that determine no value because they divide by 0.
  void CheckEquations() {
    for (const ir::Op* op : ir::RequirementsOf(function_)) {
      if (op->attr<ir::AttrKey::Compare>() != ir::CompareKind::Eq) continue;
      Size left = op->attr<ir::AttrKey::Left>();
      Size right = op->attr<ir::AttrKey::Right>();
      std::string divisor = IsOpen(left) ? ZeroDivisor(right) : std::string();
      if (divisor.empty() && IsOpen(right)) divisor = ZeroDivisor(left);
      if (divisor.empty()) continue;
      diagnostics_.Report(diag::WhereDivides, {}, op->attr<ir::AttrKey::Text>().text(), divisor);
      return;
    }
  }

  SizeValues Take() { return std::move(values_); }

 private:
  bool IsOpen(Size side) const {
    return side->kind == SizeKind::Symbol && !values_.contains(side->symbol);
  }

  /// Returns the divisor of a division by 0 within the size, or an empty string if there is none.
  std::string ZeroDivisor(Size size) const {
    if (size->lhs == nullptr) return {};
    std::string inner = ZeroDivisor(size->lhs);
    if (inner.empty() && size->rhs != nullptr) inner = ZeroDivisor(size->rhs);
    bool divides = size->kind == SizeKind::FloorDiv || size->kind == SizeKind::Mod;
    if (!inner.empty() || !divides) return inner;
    if (SizeValue(size->rhs, values_) != 0) return {};
    return IsConstant(size->rhs) ? "0" : fmt::format("{}, which is 0", SourceText(size->rhs));
  }

  Name InternedName(std::string_view text) const {
    for (Name dim : function_.dims) {
      if (dim.text() == text) return dim;
    }
    for (const ir::Generic& generic : function_.generics) {
      if (generic.name.text() == text) return generic.name;
    }
    return {};
  }

  void Bind(Name name, KnownSize size) {
    auto [known, is_new] = values_.try_emplace(name, size);
    if (is_new || known->second.value == size.value) return;
    diagnostics_.Report(diag::SizeConflict, {}, name.text(), known->second.value,
                        known->second.source, size.value, size.source);
  }

  bool BindEquation(Size side, Size other, const ir::Op& where) {
    if (side->kind != SizeKind::Symbol || values_.contains(side->symbol)) return false;
    std::optional<int64_t> value = SizeValue(other, values_);
    if (!value) return false;
    std::string_view text = where.attr<ir::AttrKey::Text>().text();
    if (*value < 0) {
      diagnostics_.Report(diag::BadSize, {}, fmt::format("{}", *value), side->symbol.text())
          .Help(fmt::format("`where {}` gives this value for these sizes", text));
    }
    Bind(side->symbol, {*value, fmt::format("where {}", text)});
    return true;
  }

  void ReportUnknown(const std::string& name, const std::vector<std::string_view>& names) {
    Diagnostic& report = diagnostics_.Report(
        diag::UnknownSize, {}, function_.base_name(), name,
        names.empty() ? std::string("no size that can be set") : QuotedList(names));
    std::string_view nearest = NearestName(name, names);
    if (!nearest.empty()) report.Help(fmt::format("did you mean '{}'?", nearest));
  }

  void ReportRank(const ir::Param& param, const ArgumentSpec& argument) {
    diagnostics_.Report(diag::NpyRank, {}, argument.path,
                        fmt::format("the shape {}", ShapeText(argument.file.shape)), argument.name,
                        ParameterType(param));
  }

  const ir::Function& function_;
  DiagnosticEngine& diagnostics_;
  SizeValues values_;
};

}  // namespace

bool FulfilsWhere(const ir::Function& function, const SizeValues& values) {
  for (const ir::Op* op : ir::RequirementsOf(function)) {
    std::optional<int64_t> left = SizeValue(op->attr<ir::AttrKey::Left>(), values);
    std::optional<int64_t> right = SizeValue(op->attr<ir::AttrKey::Right>(), values);
    if (!left || !right || !ir::Holds(op->attr<ir::AttrKey::Compare>(), *left, *right))
      return false;
  }
  return true;
}

std::optional<int64_t> SizeValue(Size size, const SizeValues& values) {
  return Evaluate(size, [&](Name name) -> std::optional<int64_t> {
    auto known = values.find(name);
    return known == values.end() ? std::nullopt : std::optional(known->second.value);
  });
}

std::optional<SizeValues> BindSizes(const ir::Function& function,
                                    const std::vector<ArgumentSpec>& arguments,
                                    const Options& options, DiagnosticEngine& diagnostics) {
  if (Name ungiven = function.UngivenDim(); !ungiven.empty()) {
    diagnostics.Report(ir::diag::IrSizeUngiven, {}, function.base_name(), ungiven.text());
    return std::nullopt;
  }
  size_t errors_before = diagnostics.error_count();
  SizeBinder binder(function, diagnostics);
  for (const std::string& text : options.set) {
    if (auto assignment = SplitAssignment("--set", text, "--set M=512", diagnostics))
      binder.Set(*assignment);
  }
  binder.BindConstants();
  auto each_file = [&](auto&& visit) {
    for (const ir::Param& param : function.params) {
      const ArgumentSpec* argument = FindArgument(arguments, param.value->name().text());
      if (argument && argument->kind == ArgumentSpec::Kind::File) visit(param, *argument);
    }
  };
  each_file([&](const ir::Param& param, const ArgumentSpec& argument) {
    binder.BindShape(param, argument);
  });
  each_file([&](const ir::Param& param, const ArgumentSpec& argument) {
    binder.CheckShape(param, argument);
  });
  binder.BindEquations();
  binder.CheckEquations();
  if (diagnostics.error_count() != errors_before) return std::nullopt;
  return binder.Take();
}

}  // namespace kdl::driver
