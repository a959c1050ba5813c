#pragma once

#include <cstdint>
#include <map>
#include <optional>

#include "ir/op_kind.h"
#include "passes/pass.h"

namespace kdl::passes {

/// What a pipeline file sets for the passes of one target: values of options, and the ops without which a
/// pass does not run.
class PassSettings {
 public:
  void Set(const PassOption& option, int64_t value) { values_[&option] = value; }
  /// Returns the value set for an option, or its default.
  int64_t Value(const PassOption& option) const {
    auto found = values_.find(&option);
    return found == values_.end() ? option.value : found->second;
  }

  /// Lets a pass run only on kernels that contain an op of this kind.
  void Require(const Pass& pass, ir::OpKind op) { needed_[&pass] = op; }
  /// Returns the kind of op that a kernel must contain for the pass to run, or nothing if it always runs.
  std::optional<ir::OpKind> Needed(const Pass& pass) const {
    auto found = needed_.find(&pass);
    return found == needed_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::map<const PassOption*, int64_t> values_;
  std::map<const Pass*, ir::OpKind> needed_;
};

}  // namespace kdl::passes
