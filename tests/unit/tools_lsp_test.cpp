#include <doctest/doctest.h>

#include <filesystem>
#include <string>

#include "support/io.h"
#include "targets/builtin.h"
#include "tools/lsp/analysis.h"
#include "tools/lsp/positions.h"

namespace kdl::tools::lsp {

namespace {

namespace fs = std::filesystem;

/// Checks that the names that semantic analysis has resolved have the same declarations in the index of names,
/// which follows from the syntax alone. Returns the number of names.
size_t CheckNames(const Analysis& analysis) {
  size_t names = 0;
  for (const sema::CheckedFunction* function : analysis.checked->functions) {
    if (function->imported) continue;
    for (const auto& [expr, info] : function->exprs) {
      bool is_name = expr->kind == syntax::ExprKind::Name && expr->span.file == analysis.file;
      if (!is_name || info.entity == nullptr || info.entity->span.file != analysis.file) continue;
      if (info.entity->span == expr->span) continue;  // `none`, which nothing declares
      // The compiler makes names for what `append` means.
      if (analysis.text(expr->span) != info.entity->name.text()) continue;
      const syntax::NameOccurrence* found = analysis.names.At(expr->span.begin);
      CAPTURE(analysis.text(expr->span));
      CAPTURE(analysis.session.sources.Locate(expr->span).line);
      REQUIRE(found != nullptr);
      REQUIRE(found->span == expr->span);
      REQUIRE(found->declaration != syntax::kNoName);
      const syntax::NameDeclaration& declaration = analysis.Declaration(found->declaration);
      bool is_index =
          declaration.kind == syntax::NameKind::Index || declaration.kind == syntax::NameKind::Size;
      CHECK((is_index ? info.entity->name.text() == declaration.name
                      : info.entity->span == declaration.span));
      ++names;
    }
  }
  return names;
}

}  // namespace

TEST_CASE("the names of all files of the repository refer to what semantic analysis says") {
  const targets::Registry families = targets::BuiltinFamilies();
  size_t names = 0;
  for (const char* folder :
       {"samples", "stdlib", "tests/golden/run", "tests/golden/sema", "tests/suites"}) {
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(KDL_ROOT_FOLDER) / folder)) {
      if (entry.path().extension() != ".kdl") continue;
      CAPTURE(entry.path().string());
      Result<std::string> text = ReadFile(entry.path().string(), 1 << 24);
      REQUIRE(text.ok());
      auto analysis = Analyze({families, {}, {}}, entry.path().string(), *text);
      if (analysis->checked && !analysis->has_errors()) names += CheckNames(*analysis);
    }
  }
  CHECK(names > 10'000);
}

TEST_CASE("positions count UTF-16 units") {
  std::string text = "a\xC3\xA9\xF0\x9D\x9B\xBCz\r\n\nend";  // a, é, and a character of two units
  Positions positions(text);
  for (uint32_t offset : {0u, 1u, 3u, 7u, 8u, 10u, 11u, 14u})
    CHECK(positions.Offset(positions.Position(offset)) == offset);
  CHECK(positions.Position(7) == nlohmann::json({{"line", 0}, {"character", 4}}));
  CHECK(positions.Offset({{"line", 0}, {"character", 99}}) == 8);
  CHECK(positions.Offset({{"line", 99}, {"character", 0}}) == text.size());
}

}  // namespace kdl::tools::lsp
