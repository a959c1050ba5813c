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

/// Returns all keys that a spec of the kind may have, without duplicates.
std::vector<std::string_view> KeysOf(const TargetKind& kind);

/// Returns the family's first kind that needs no description file, or an empty string.
std::string_view KindWithoutFile(const Family& family);

/// The families that a compiler knows. The compiler makes the registry at startup and passes it on; builtin.h
/// adds kernelc's own families.
class Registry {
 public:
  /// Adds a family, which must outlive the registry. Fails if a pass of the family runs twice or lacks
  /// something that it needs. Also fails if the name of a kind, an instruction or a pass is already in use.
  /// After a failure, the registry is unusable.
  Status Add(const Family& family);

  std::span<const Family* const> families() const { return families_; }
  std::span<const ir::MatrixInstruction* const> instructions() const { return instructions_; }
  /// Returns all passes in the order in which they run: those of every family, and those that run for every
  /// target.
  std::span<const passes::Pass* const> passes() const { return passes_; }

  /// Returns the targets that a spec names, the lowest level first. These targets differ only in the
  /// processor. For example, `host?isa=x86-64-v3&threads=4` names one target. `host` and `debug?seed=7` name
  /// every level of kernelc's own architecture; the runtime chooses the best level that the processor
  /// supports.
  Result<std::vector<Target>> ParseTargets(std::string_view text) const;
  /// Whether the text is a spec whose kind belongs to some family.
  bool Knows(std::string_view text) const;

  /// If a file describes the machine that `text` names, returns the kind of a similar machine that kernelc
  /// itself describes. Otherwise returns an empty string.
  std::string_view DescribedExample(std::string_view text) const;

  /// Returns the file whose code runs on this machine for a spec (a plugin, or a file that names programs),
  /// or an empty string if there is none.
  std::string CodeFile(std::string_view text) const;
  /// Permits specs to run the code of a file. Sources, including those of third parties, may name such files,
  /// so nothing runs without permission for that file or for all files.
  void Allow(const std::string& file) { allowed_.insert(file); }
  void AllowAll() { allows_all_ = true; }
  bool Allows(std::string_view text) const;

  /// Returns the names by which `build --emit` refers to the texts that devices load.
  std::vector<std::string_view> texts() const;

  /// Returns the kind of image (the name of a target's kind) that the plugin at `path` accepts. Without such
  /// a function, no spec can name a plugin.
  using ImageKindOf = std::function<Result<std::string>(const std::string& path)>;
  void AskPlugins(ImageKindOf image_kind_of) { image_kind_of_ = std::move(image_kind_of); }

 private:
  /// Returns the kind that makes the code for the spec's device.
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
