#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "driver/compile/session.h"
#include "driver/compile/sources.h"
#include "driver/options.h"
#include "sema/model/checked.h"
#include "syntax/name_index.h"
#include "targets/registry.h"
#include "tools/lsp/positions.h"

namespace kdl::tools::lsp {

/// What the check of a file depends on, besides the file.
struct Surroundings {
  const targets::Registry& families;
  driver::OptionTexts defines;  ///< values of -D, for the files that have the parameter
  /// Returns the contents of an open file, or null.
  std::function<const std::string*(const std::string& path)> unsaved;
};

/// What is known about a state of a file: its errors up to semantic analysis, its names, and the types of what it
/// declares. Proofs take longer; see `full_check.h`.
struct Analysis {
  Analysis(const Surroundings& around, const std::string& path, std::string text);

  std::string_view text() const { return session.sources.text(file); }
  std::string_view text(Span span) const { return session.sources.text(span); }
  /// Returns whether the file imports another one, directly or indirectly.
  bool Imports(std::string_view path) const;
  bool has_errors() const { return session.diagnostics.has_errors(); }
  /// Returns what semantic analysis knows about a declaration: an entity for each instance of its function.
  std::vector<const sema::Entity*> Entities(const syntax::NameDeclaration& declaration) const;
  const syntax::NameDeclaration& Declaration(size_t index) const {
    return names.declarations[index];
  }

  const driver::Options options;
  driver::Session session;
  FileId file;
  driver::Trees trees;
  std::optional<sema::CheckedModule>
      checked;  ///< incomplete after errors, and empty after syntax errors
  syntax::NameIndex names;
  Positions positions;
};

/// Returns the options of `kernelc check PATH` for a file with this text.
driver::Options OptionsOfCheck(const Surroundings& around, const std::string& path,
                               std::string_view text);

std::unique_ptr<Analysis> Analyze(const Surroundings& around, const std::string& path,
                                  std::string text);

}  // namespace kdl::tools::lsp
