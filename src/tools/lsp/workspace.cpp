#include "tools/lsp/workspace.h"

#include <filesystem>
#include <utility>

#include "driver/compile/stdlib.h"
#include "syntax/limits.h"

namespace kdl::tools::lsp {

namespace {

namespace fs = std::filesystem;

/// Returns the path in `import lib.nn;`.
std::string ImportPath(const Analysis& analysis, const syntax::NameDeclaration& import) {
  std::string path;
  for (char c : analysis.text(Span{import.whole.file, import.whole.begin, import.span.end})) {
    bool is_part = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.';
    if (is_part) path += c;
    if (!is_part && (path == "import" || path == "export")) path.clear();
  }
  return path;
}

}  // namespace

Workspace::Workspace(const targets::Registry& families, const driver::OptionTexts& defines)
    : around_{families, defines, [this](const std::string& path) { return TextOfOpen(path); }} {}

const std::string* Workspace::TextOfOpen(const std::string& path) const {
  for (const auto& [uri, document] : documents)
    if (document.path == path) return &document.text;
  return nullptr;
}

const Analysis& Workspace::AnalysisOf(Document& document) {
  if (!document.analysis) document.analysis = Analyze(around_, document.path, document.text);
  return *document.analysis;
}

std::optional<FoundDeclaration> Workspace::Find(const Analysis& analysis,
                                                const syntax::NameOccurrence& occurrence) {
  if (occurrence.declaration != syntax::kNoName)
    return FoundDeclaration{&analysis, &analysis.Declaration(occurrence.declaration)};
  if (occurrence.role != syntax::NameRole::Member || occurrence.qualifier == syntax::kNoName)
    return std::nullopt;
  const syntax::NameDeclaration& qualifier = analysis.Declaration(occurrence.qualifier);
  const Analysis* imported = Imported(analysis, qualifier);
  if (imported == nullptr) return std::nullopt;
  for (const syntax::NameDeclaration& one : imported->names.declarations) {
    if (one.is_exported && one.name == occurrence.name) return FoundDeclaration{imported, &one};
  }
  return std::nullopt;
}

const Analysis* Workspace::Imported(const Analysis& analysis,
                                    const syntax::NameDeclaration& import) {
  if (import.kind != syntax::NameKind::Import) return nullptr;
  std::string name = ImportPath(analysis, import);
  if (driver::FindStdlibFile(name) != nullptr) return Load(PathOfLibrary(name));
  fs::path path = fs::path(analysis.session.sources.path(analysis.file)).parent_path();
  size_t begin = 0;
  for (size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', begin)) {
    path /= name.substr(begin, dot - begin);
    begin = dot + 1;
  }
  return Load((path / (name.substr(begin) + ".kdl")).string());
}

/// Analyzes a file that is not open. The analysis is kept until the file changes.
const Analysis* Workspace::Load(const std::string& path) {
  for (auto& [uri, document] : documents) {
    if (document.path == path) return &AnalysisOf(document);
  }
  Result<std::string> text = ReadFile(path, syntax::kMaxBytes);
  if (!text.ok()) return nullptr;
  std::unique_ptr<Analysis>& known = imported_[path];
  if (!known || known->text() != *text) known = Analyze(around_, path, std::move(*text));
  return known.get();
}

/// Writes a file of the standard library, which is part of the compiler, where editors can open it.
std::string Workspace::PathOfLibrary(const std::string& name) {
  if (!library_) {
    Result<TemporaryFolder> made = TemporaryFolder::Make();
    if (!made.ok()) return {};
    library_.emplace(std::move(*made));
  }
  std::string path = (fs::path(library_->path()) / (name + ".kdl")).string();
  std::error_code none;
  if (!fs::exists(path, none)) {
    if (!WriteFileWhole(path, driver::FindStdlibFile(name)->text).ok()) return {};
    fs::permissions(path, fs::perms::owner_read, none);
  }
  return path;
}

}  // namespace kdl::tools::lsp
