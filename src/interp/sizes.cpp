#include "interp/sizes.h"

#include "ir/requirement.h"

#include <fmt/format.h>

#include "kdl/queue.h"

namespace kdl::interp {

namespace {

/// A dimension of a tensor parameter, and its size in this run.
struct Dimension {
  const ir::Param* param;
  size_t number;
  Size declared;
  int64_t actual;
};

Result<std::vector<Dimension>> DimensionsOf(const ir::Function& function,
                                            const std::vector<std::vector<int64_t>>& sizes) {
  std::vector<Dimension> dimensions;
  size_t tensor = 0;
  for (const ir::Param& param : function.params) {
    ir::Type type = param.value->type();
    if (type->kind != ir::TypeKind::Tensor) continue;
    if (tensor == sizes.size())
      return Failure{
          fmt::format("'{}' needs a tensor for {}", function.name.text(), SpellingOf(param))};
    const std::vector<int64_t>& given = sizes[tensor++];
    if (given.size() != type->dims.size()) {
      return Failure{
          fmt::format("parameter {} of '{}' has {} dimensions, but the tensor given has {}",
                      SpellingOf(param), function.name.text(), type->dims.size(), given.size())};
    }
    for (size_t d = 0; d < given.size(); ++d) {
      if (given[d] < 0)
        return Failure{fmt::format("dimension {} of {} has size {}; sizes are 0 or more", d,
                                   SpellingOf(param), given[d])};
      dimensions.push_back({&param, d, type->dims[d], given[d]});
    }
  }
  if (tensor != sizes.size()) {
    return Failure{fmt::format("'{}' has {} tensors, but {} are given", function.name.text(),
                               tensor, sizes.size())};
  }
  return dimensions;
}

/// Returns the first dimension that consists of just this size name.
const Dimension* DefiningDimension(Name name, const std::vector<Dimension>& dimensions) {
  for (const Dimension& dimension : dimensions) {
    if (dimension.declared->kind == SizeKind::Symbol && dimension.declared->symbol == name)
      return &dimension;
  }
  return nullptr;
}

Status Check(const Dimension& dimension, const SizeValues& values,
             const std::vector<Dimension>& dimensions) {
  std::optional<int64_t> needed = EvaluateChecked(dimension.declared, values.AsSymbols());
  std::string here = fmt::format("{} dimension {}", SpellingOf(*dimension.param), dimension.number);
  if (!needed) return Failure{fmt::format("{}: {}", here, NoValueText(dimension.declared))};
  if (*needed == dimension.actual) return {};
  if (dimension.declared->kind == SizeKind::Symbol) {
    if (const Dimension* source = DefiningDimension(dimension.declared->symbol, dimensions)) {
      return Failure{fmt::format("size {} is {} from {} dimension {}, but {} is {}",
                                 ToString(dimension.declared), *needed, SpellingOf(*source->param),
                                 source->number, here, dimension.actual)};
    }
  }
  return Failure{fmt::format("size {} is {}, but {} is {}", ToString(dimension.declared), *needed,
                             here, dimension.actual)};
}

}  // namespace

std::optional<int64_t> SizeValues::Find(Name name) const {
  auto found = values.find(name);
  return found == values.end() ? std::nullopt : std::optional(found->second);
}

Symbols SizeValues::AsSymbols() const {
  return [this](Name name) { return Find(name); };
}

Result<SizeValues> BindSizes(const ir::Function& function,
                             const std::vector<std::vector<int64_t>>& sizes,
                             const Constants& constants) {
  Result<std::vector<Dimension>> dimensions = DimensionsOf(function, sizes);
  if (!dimensions.ok()) return dimensions.failure();
  SizeValues bound;
  auto given = [&](Name name) {
    auto found = constants.find(name.str());
    return found == constants.end() ? std::nullopt : std::optional(found->second);
  };
  for (const ir::Generic& generic : function.generics) {
    std::optional<int64_t> value =
        generic.values.size() == 1 ? std::optional(generic.values[0]) : given(generic.name);
    if (value) bound.values[generic.name] = *value;
  }
  for (const Dimension& dimension : *dimensions) {
    if (dimension.declared->kind == SizeKind::Symbol)
      bound.values.try_emplace(dimension.declared->symbol, dimension.actual);
  }
  for (Name dim : function.dims) {
    if (bound.Find(dim)) continue;
    std::optional<int64_t> value = given(dim);
    if (!value)
      return Failure{
          fmt::format("no parameter of '{}' gives size {}", function.name.text(), dim.text())};
    bound.values[dim] = *value;
  }
  for (Name dim : function.dims) {
    int64_t size = *bound.Find(dim);
    if (function.kind == ir::FunctionKind::Kernel && size > KDL_LARGEST_SIZE)
      return Failure{fmt::format("launch of '{}': size {} is {}; the maximum is {}",
                                 function.base_name(), dim.text(), size, KDL_LARGEST_SIZE)};
  }
  for (const Dimension& dimension : *dimensions) {
    Status status = Check(dimension, bound, *dimensions);
    if (!status.ok())
      return Failure{
          fmt::format("launch of '{}': {}", function.base_name(), status.failure().message)};
  }
  return bound;
}

std::string SpellingOf(const ir::Param& param) {
  std::string text = param.value->name().str();
  if (param.value->type()->kind != ir::TypeKind::Tensor) return text;
  text += '[';
  for (size_t d = 0; d < param.value->type()->dims.size(); ++d) {
    text += (d == 0 ? "" : ", ") + ToString(param.value->type()->dims[d]);
  }
  return text + ']';
}

std::optional<Trap> BrokenRequirement(const ir::Function& function, const ir::Op& require,
                                      const Symbols& symbols) {
  int64_t values[2];
  Size sides[] = {require.attr<ir::AttrKey::Left>(), require.attr<ir::AttrKey::Right>()};
  for (size_t i = 0; i < 2; ++i) {
    std::optional<int64_t> value = EvaluateChecked(sides[i], symbols);
    if (!value) {
      bool divides_by_zero = !Evaluate(sides[i], symbols);
      if (divides_by_zero) return Trap{KDL_TRAP_DIVISION, &require};
      Trap trap{KDL_TRAP_OVERFLOW, &require};
      trap.text = ir::SideSource(&require, i == 1);
      return trap;
    }
    values[i] = *value;
  }
  if (ir::Holds(require.attr<ir::AttrKey::Compare>(), values[0], values[1])) return std::nullopt;
  std::string message = ir::RequirementMessage(function, &require, std::to_string(values[0]),
                                               std::to_string(values[1]));
  return Trap{KDL_TRAP_SIZES, &require, -1, values[0], values[1], std::move(message)};
}

}  // namespace kdl::interp
