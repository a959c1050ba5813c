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

/// All keys that a spec of the kind may have, each once.
std::vector<std::string_view> KeysOf(const TargetKind& kind);

/// The family's kind whose code the same devices load, and that no file has to describe; empty: there is none.
std::string_view KindWithoutFile(const Family& family);

/// The families that a compiler knows. Made where it starts and handed on; those of kernelc itself are in builtin.h.
class Registry {
 public:
  /// Refuses a family whose passes do not find what they need or run twice, or that has a kind, a unit or a pass of another's name;
  /// the registry is of no use then. The family has to outlive it.
  Status Add(const Family& family);

  std::span<const Family* const> families() const { return families_; }
  std::span<const ir::MatrixInstruction* const> instructions() const { return instructions_; }
  /// Of all families, and those that run whatever the target is; in the order in which they run.
  std::span<const passes::Pass* const> passes() const { return passes_; }

  /// The targets that a spec names, the lowest level first; the same code for all but the processor.
  /// `host?isa=x86-64-v3&threads=4` is one; `host` and `debug?seed=7` are every level of kernelc's own architecture, of
  /// which the runtime takes the best that the processor has.
  Result<std::vector<Target>> ParseTargets(std::string_view text) const;
  /// Whether the text is a spec of a kind that some family has.
  bool Knows(std::string_view text) const;

  /// Where a file describes the machine that the text names, the kind of one that kernelc itself describes; empty: no file does.
  std::string_view DescribedExample(std::string_view text) const;

  /// The file whose code a spec runs here, a plugin's or one that names programs; empty: there is none.
  std::string CodeFile(std::string_view text) const;
  /// A source may name such a file, and so may somebody else's. The code runs where this was told of the file, or of all.
  void Allow(const std::string& file) { allowed_.insert(file); }
  void AllowAll() { allows_all_ = true; }
  bool Allows(std::string_view text) const;

  /// What `build --emit` calls the texts that devices load.
  std::vector<std::string_view> texts() const;

  /// Who says which kind of images, a target's kind, a plugin of a path takes; without one no plugin can be named.
  using ImageKindOf = std::function<Result<std::string>(const std::string& path)>;
  void AskPlugins(ImageKindOf image_kind_of) { image_kind_of_ = std::move(image_kind_of); }

 private:
  /// What makes the code for a spec's device.
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
