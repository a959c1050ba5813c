#pragma once

#include <fmt/format.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ir/op.h"
#include "support/diagnostics.h"

namespace kdl::passes {

/// The cycles of a remark that is not about time. It is always reported, after all others.
inline constexpr double kCostsNoTime = -1;

/// The declaration of a performance remark. The C++ compiler checks the placeholders against `Args`.
template <class Signature>
struct RemarkKind;

template <class... Args>
struct RemarkKind<void(Args...)> {
  std::string_view id;
  double cycles;  ///< see remarks.def
  fmt::format_string<Args...> text;
  fmt::format_string<Args...> help;
};

/// States that something in a kernel costs much, and what to write instead.
struct Remark {
  std::string_view id;
  Name kernel;
  ir::Loc loc;
  std::string text;
  std::string help;
  double cycles = 0;  ///< the estimated cost in one launch
  double share =
      0;  ///< the cost, divided by the estimated time of the kernel with all of its remarks
};

/// Receives the remarks of the passes that run for one target.
class RemarkSink {
 public:
  /// States the estimated number of cycles that one launch of the kernel needs at least.
  void SetWork(Name kernel, double cycles) { work_[kernel] = cycles; }

  /// States that all launches of the kernel are on one core.
  void SetOnOneCore(Name kernel) { on_one_core_.insert(kernel); }
  bool IsOnOneCore(Name kernel) const { return on_one_core_.contains(kernel); }

  /// Adds a remark about the source at `loc`. If the kernel already has it, adds the costs.
  template <class... Args, class... Given>
  void Add(const RemarkKind<void(Args...)>& kind, Name kernel, const ir::Loc& loc, double cycles,
           Given&&... given) {
    auto make = [&](const Args&... args) {
      return Remark{kind.id,
                    kernel,
                    loc,
                    fmt::format(fmt::runtime(fmt::string_view(kind.text)), args...),
                    fmt::format(fmt::runtime(fmt::string_view(kind.help)), args...),
                    cycles};
    };
    AddRemark(make(Args(std::forward<Given>(given))...));
  }

  /// Returns the remarks that matter: those that cost a considerable part of the kernel's time. The costliest
  /// remark comes first.
  std::vector<Remark> Considerable() const;

 private:
  void AddRemark(Remark remark);

  std::map<Name, double> work_;
  std::set<Name> on_one_core_;
  std::vector<Remark> all_;
};

namespace remark {
#define KDL_REMARK(name, id, cycles, args, text, help, explanation) \
  inline constexpr RemarkKind<void args> name{id, cycles, text, help};
#include "passes/remarks.def"
}  // namespace remark

}  // namespace kdl::passes
