#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "support/io.h"
#include "targets/registry.h"
#include "tools/lsp/analysis.h"
#include "tools/lsp/connection.h"

namespace kdl::tools::lsp {

/// An open file. Its analysis is made when it is needed after a change.
struct Document {
  std::string path;
  std::string text;
  int64_t version = 0;
  std::unique_ptr<Analysis> analysis;  ///< null after a change
  Json tiles = Json::array();          ///< see FullCheck; of the last state without errors
};

/// A declaration in this or another file, with the analysis of that file.
struct FoundDeclaration {
  const Analysis* analysis = nullptr;
  const syntax::NameDeclaration* declaration = nullptr;
};

/// The open files, and the files that they import.
class Workspace {
 public:
  Workspace(const targets::Registry& families, const driver::OptionTexts& defines);
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;

  std::map<std::string, Document> documents;  ///< by URI

  /// Returns the analysis of the current state of an open file.
  const Analysis& AnalysisOf(Document& document);
  /// Returns the declaration to which an occurrence refers. Follows the names of imports.
  std::optional<FoundDeclaration> Find(const Analysis& analysis,
                                       const syntax::NameOccurrence& occurrence);
  /// Returns the file that a declaration imports, or null.
  const Analysis* Imported(const Analysis& analysis, const syntax::NameDeclaration& import);
  /// What checks depend on: the open files, among others.
  const Surroundings& around() const { return around_; }

 private:
  const Analysis* Load(const std::string& path);
  std::string PathOfLibrary(const std::string& name);

  const std::string* TextOfOpen(const std::string& path) const;

  Surroundings around_;
  std::map<std::string, std::unique_ptr<Analysis>> imported_;  ///< by path
  std::optional<TemporaryFolder>
      library_;  ///< the files of the standard library that editors have been sent to
};

}  // namespace kdl::tools::lsp
