#include "tools/lsp/analysis.h"

#include <utility>

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

}  // namespace

driver::Options OptionsOfCheck(const std::string& path) {
  DiagnosticEngine diagnostics;
  const driver::CommandInfo* command = driver::ParseCommand("check", diagnostics);
  // `--` would be needed for a path that begins with a dash, but paths are absolute.
  std::vector<std::string> words{path};
  auto options = driver::ParseOptions(*command, words, diagnostics);
  KDL_CHECK(options.has_value(), "check does not accept '{}'", path);
  return *options;
}

Analysis::Analysis(driver::Options o, const targets::Registry& families, const std::string& path,
                   std::string text)
    : options(std::move(o)),
      session(options, families),
      file(session.sources.Add(path, std::move(text))),
      positions(session.sources.text(file)) {
  syntax::ParseResult parsed = syntax::ParseFile(session.sources, file, trees.arena, session.names,
                                                 session.diagnostics, names);
  const sema::SourceFile* source =
      parsed.ok ? driver::LoadImports(session, *parsed.module, trees) : nullptr;
  if (source == nullptr) return;
  std::vector<const syntax::Module*> library = driver::LoadElementary(session, trees);
  DoingScope doing("checking an edited file");
  checked = sema::Check(*source, library, session.sources, session.context.types.sizes(), {},
                        session.diagnostics);
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

std::unique_ptr<Analysis> Analyze(const targets::Registry& families, const std::string& path,
                                  std::string text) {
  return std::make_unique<Analysis>(OptionsOfCheck(path), families, path, std::move(text));
}

}  // namespace kdl::tools::lsp
