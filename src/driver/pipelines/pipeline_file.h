#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "passes/pass_settings.h"
#include "passes/pipeline_text.h"
#include "support/diagnostics.h"
#include "support/source.h"
#include "targets/registry.h"

namespace kdl::driver {

/// The passes of a family that lower kernels, in the order of passes::kStageLists.
using StageLists = std::array<passes::Pipeline, passes::kStageLists.size()>;
StageLists ListsOf(const targets::Family& family);

/// The file of --pipeline, which changes the passes of one family of targets. Its passes are those of the
/// family, each in its own list. Their order meets their needs.
class PipelineFile {
 public:
  /// Reads the file that `spec` names, such as `FILE.yaml?points=32`, which also sets parameters of the file.
  /// On error, reports it and returns null.
  static std::unique_ptr<PipelineFile> Read(const std::string& spec,
                                            const targets::Registry& families,
                                            SourceManager& sources, DiagnosticEngine& diagnostics);

  const targets::Family& family() const { return *family_; }
  const std::vector<std::string>& paths() const { return text_.files; }
  /// The values of the file's parameters, by name.
  const std::map<std::string, int64_t>& parameters() const { return parameters_; }
  /// The file's passes, or the family's where the file has no list. Valid as long as the object.
  StageLists lists() const;
  /// Returns the options of passes and the conditions under which they run. Values may depend on properties
  /// of the target. On error, reports it and returns nothing.
  std::optional<passes::PassSettings> SettingsFor(const targets::Target& target,
                                                  DiagnosticEngine& diagnostics) const;

 private:
  /// In the settings of a pass, the key of its condition. No option of a pass has this name.
  static constexpr std::string_view kNeeds = "needs";

  PipelineFile() = default;
  Span SpanOf(const passes::TextPlace& at) const;
  Span NameSpan(const passes::TextPlace& at, std::string_view name) const;
  bool FindPasses(DiagnosticEngine& diagnostics);
  bool CheckNeeds(DiagnosticEngine& diagnostics) const;
  static bool IsConditional(const passes::StageText& stage);
  bool Apply(const passes::SettingText& setting, const passes::Pass& pass,
             const targets::Target& target, passes::PassSettings& settings,
             DiagnosticEngine& diagnostics) const;
  std::optional<int64_t> Variable(std::string_view name, const targets::Target& target) const;
  bool SetParameters(std::string_view assignments, DiagnosticEngine& diagnostics);

  const SourceManager* sources_ = nullptr;
  std::vector<FileId> ids_;  ///< of each file of text_
  passes::PipelineText text_;
  const targets::Family* family_ = nullptr;
  std::array<std::vector<const passes::Pass*>, passes::kStageLists.size()> passes_;
  std::map<std::string, int64_t> parameters_;
};

}  // namespace kdl::driver
