#pragma once

#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "passes/pass.h"
#include "support/result.h"
#include "targets/family.h"

namespace kdl::targets {

/// Returns all keys that a spec of this kind may have, without duplicates.
std::vector<std::string_view> KeysOf(const TargetKind& kind);

/// Returns the family's first kind that needs no description file, or an empty string if there is none.
std::string_view KindWithoutFile(const Family& family);

/// The families of targets that the compiler supports. The compiler makes its registry at startup and then
/// passes it to the code that needs it. `BuiltinFamilies` (builtin.h) returns a registry with the built-in
/// families.
class Registry {
 public:
  /// Adds a family, which must outlive the registry. Fails if one of its passes runs twice or needs a fact
  /// that no earlier pass establishes. Also fails if the name of a kind, an instruction or a pass is already
  /// in use. After a failure, the registry is unusable.
  Status Add(const Family& family);

  std::span<const Family* const> families() const { return families_; }
  std::span<const ir::MatrixInstruction* const> instructions() const { return instructions_; }
  /// Returns all passes in the order in which they run: those of every family, and those that run for every
  /// target.
  std::span<const passes::Pass* const> passes() const { return passes_; }

  /// Returns the targets that a spec names, from the lowest instruction-set level to the highest. The targets
  /// differ only in that level. For example, `host?isa=x86-64-v3&threads=4` names one target. `host` and
  /// `debug?seed=7` name every level of the host's architecture; the runtime chooses the best level that the
  /// processor supports.
  Result<std::vector<Target>> ParseTargets(std::string_view text) const;
  /// Whether the text is a device spec whose kind one of the families provides.
  bool Knows(std::string_view text) const;

  /// If the spec in `text` names a machine that a file describes, returns the kind of a similar machine whose
  /// description is built into kernelc. Otherwise returns an empty string.
  std::string_view DescribedExample(std::string_view text) const;

  /// If a device spec makes the machine that compiles run code from a file (a plugin, or a file that names
  /// programs to run), returns the path of that file. Otherwise returns an empty string.
  std::string CodeFile(std::string_view text) const;
  /// Permits device specs to run the code in a file. Source files, even from third parties, may contain such
  /// specs, so no code runs unless either its own file or every file has been permitted.
  void Allow(const std::string& file) { allowed_.insert(file); }
  void AllowAll() { allows_all_ = true; }
  bool Allows(std::string_view text) const;

  /// Returns the names of the text formats that devices load, as `kernelc build --emit` accepts them.
  std::vector<std::string_view> texts() const;

  /// A function that returns the kind of image that the plugin at `path` accepts, as the name of a
  /// TargetKind. If no such function is set, no spec can name a plugin.
  using ImageKindOf = std::function<Result<std::string>(const std::string& path)>;
  void AskPlugins(ImageKindOf image_kind_of) { image_kind_of_ = std::move(image_kind_of); }

 private:
  /// Returns the kind whose targets generate the code for the spec's device.
  Result<const TargetKind*> KindFor(const Spec& spec) const;
  Status AddPasses(const Family& family, std::span<const passes::Pipeline> pipelines);
  const TargetKind* FindKind(std::string_view kind) const;

  std::vector<const Family*> families_;
  std::vector<const passes::Pass*> passes_;
  std::vector<const ir::MatrixInstruction*> instructions_;
  ImageKindOf image_kind_of_;
  std::set<std::string> allowed_;
  bool allows_all_ = false;
};

}  // namespace kdl::targets
