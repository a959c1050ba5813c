#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "ir/op_kind.h"
#include "passes/pass.h"
#include "support/names.h"

namespace kdl::passes {

/// The value of an option of a pass.
struct Setting {
  int64_t value = 0;
  std::string
      from;  ///< the line of a file that sets it, such as `passes.yaml:7`; empty: the default
};

/// What a pipeline file and schedules set for the passes of one target: values of options, and the ops without
/// which a pass does not run.
class PassSettings {
 public:
  /// Sets an option for all kernels.
  void Set(const PassOption& option, Setting setting) {
    values_.insert_or_assign({&option, Name()}, std::move(setting));
  }
  /// Sets an option for one kernel. This value has precedence.
  void SetFor(Name kernel, const PassOption& option, Setting setting) {
    values_.insert_or_assign({&option, kernel}, std::move(setting));
  }
  /// Returns the value that an option has for a kernel.
  Setting ValueFor(Name kernel, const PassOption& option) const {
    for (Name name : {kernel, Name()}) {
      auto found = values_.find({&option, name});
      if (found != values_.end()) return found->second;
    }
    return {option.value, ""};
  }

  /// Lets a pass run only on kernels that contain an op of this kind.
  void Require(const Pass& pass, ir::OpKind op) { needed_[&pass] = op; }
  /// Returns the kind of op that a kernel must contain for the pass to run, or nothing if it always runs.
  std::optional<ir::OpKind> Needed(const Pass& pass) const {
    auto found = needed_.find(&pass);
    return found == needed_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  /// Keyed by the option and the name of the kernel, which is empty for all kernels.
  std::map<std::pair<const PassOption*, Name>, Setting> values_;
  std::map<const Pass*, ir::OpKind> needed_;
};

}  // namespace kdl::passes
