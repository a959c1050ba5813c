#pragma once

#include <functional>
#include <map>

#include "ir/builder.h"
#include "passes/names.h"

namespace kdl::passes {

/// Copies ops of a kernel into another kernel, with the axes and sizes of the other kernel. A copy of a Copier
/// knows all values and axes that the original knew.
class Copier {
 public:
  /// `size` returns, in the sizes of `to`, the value of a size name of `from`, or null to keep the name.
  Copier(ir::Module& module, const ir::Function& from, ir::Function& to,
         std::function<Size(Name)> size)
      : module_(&module), from_(&from), to_(&to), size_(std::move(size)) {}

  ir::ValueMap values;  ///< from values of `from` to values of `to`

  void SetAxis(AxisId from, AxisId to) { axes_[from] = to; }
  bool HasAxis(AxisId from) const { return axes_.contains(from); }
  /// Returns the axis of `to` for an axis of `from`. If there is none yet, adds a copy of the axis.
  AxisId AxisFor(AxisId from);

  Size Sized(Size size) const;
  ir::Value* ValueFor(ir::Value* value) const;

  /// Copies an op with its regions to the insertion point, and adds its results to `values`.
  ir::Op* Copy(const ir::Op* op, ir::Builder& b);

 private:
  ir::Type TypeFor(ir::Type type);
  ir::Attr AttrFor(ir::Attr attr);

  ir::Module* module_;
  const ir::Function* from_;
  ir::Function* to_;
  std::function<Size(Name)> size_;
  std::map<AxisId, AxisId> axes_;
};

}  // namespace kdl::passes
