#include "tools/lsp/analysis.h"

#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "driver/defines.h"
#include "sema/model/checked.h"
#include "support/check.h"
#include "syntax/parse.h"

namespace kdl::tools::lsp {

namespace {

bool IsDeclaredBy(const sema::Entity& entity, const syntax::NameDeclaration& declaration) {
  if (entity.span == declaration.span) return true;
  // An index of a contract is declared by any of its uses.
  return declaration.kind == syntax::NameKind::Index && entity.name.text() == declaration.name &&
         declaration.scope.begin <= entity.span.begin && entity.span.end <= declaration.scope.end;
}

/// Returns whether the text contains the name as a word.
bool Mentions(std::string_view text, std::string_view name) {
  auto is_part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
  };
  for (size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    size_t end = at + name.size();
    bool begins = at == 0 || !is_part(text[at - 1]);
    if (begins && (end == text.size() || !is_part(text[end]))) return true;
  }
  return false;
}

}  // namespace

driver::Options OptionsOfCheck(const Surroundings& around, const std::string& path,
                               std::string_view text) {
  DiagnosticEngine diagnostics;
  const driver::CommandInfo* command = driver::ParseCommand("check", diagnostics);
  // `--` would be needed for a path that begins with a dash, but paths are absolute.
  std::vector<std::string> words{path};
  for (const std::string& define : around.defines) {
    if (!Mentions(text, std::string_view(define).substr(0, define.find('=')))) continue;
    words.insert(words.end(), {"-D", define});
  }
  auto options = driver::ParseOptions(*command, words, diagnostics);
  KDL_CHECK(options.has_value(), "check does not accept '{}'", path);
  return *options;
}

Analysis::Analysis(const Surroundings& around, const std::string& path, std::string text)
    : options(OptionsOfCheck(around, path, text)),
      session(options, around.families),
      file(session.sources.Add(path, std::move(text))),
      positions(session.sources.text(file)) {
  session.unsaved = around.unsaved;
  syntax::ParseResult parsed = syntax::ParseFile(session.sources, file, trees.arena, session.names,
                                                 session.diagnostics, names);
  const sema::SourceFile* source =
      parsed.ok ? driver::LoadImports(session, *parsed.module, trees) : nullptr;
  std::optional<std::vector<sema::Define>> defines =
      driver::ReadDefines(options, session.diagnostics);
  if (source == nullptr || !defines) return;
  std::vector<const syntax::Module*> library = driver::LoadElementary(session, trees);
  DoingScope doing("checking an edited file");
  checked = sema::Check(*source, library, session.sources, session.context.types.sizes(),
                        {std::move(*defines)}, session.diagnostics);
}

bool Analysis::Imports(std::string_view path) const {
  for (size_t i = 1; i < session.sources.file_count(); ++i)
    if (session.sources.path(FileId(static_cast<uint32_t>(i))) == path) return true;
  return false;
}

std::vector<const sema::Entity*> Analysis::Entities(
    const syntax::NameDeclaration& declaration) const {
  std::vector<const sema::Entity*> found;
  if (!checked) return found;
  for (const sema::CheckedFunction* function : checked->functions) {
    for (const sema::Entity* entity : function->entities) {
      if (IsDeclaredBy(*entity, declaration)) found.push_back(entity);
    }
  }
  return found;
}

std::unique_ptr<Analysis> Analyze(const Surroundings& around, const std::string& path,
                                  std::string text) {
  return std::make_unique<Analysis>(around, path, std::move(text));
}

}  // namespace kdl::tools::lsp
