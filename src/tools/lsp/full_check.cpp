#include "tools/lsp/full_check.h"

#include <optional>
#include <utility>
#include <vector>

#include "driver/compile/compile.h"
#include "driver/compile/session.h"
#include "support/json_text.h"
#include "tools/lsp/connection.h"
#include "tools/lsp/diagnostics.h"
#include "tools/timing/selected_tiles.h"

namespace kdl::tools::lsp {

namespace {

Json TilesOf(const Surroundings& around, const std::string& path, const std::string& text) {
  driver::Options options = OptionsOfCheck(around, path, text);
  driver::Session session(options, around.families);
  session.unsaved = around.unsaved;
  std::optional<std::vector<SelectedTiles>> all = SelectTilesOf(session, text);
  Json tiles = Json::array();
  if (!all) return tiles;
  for (const SelectedTiles& one : *all) {
    for (const auto& [name, value] : one.chosen)
      tiles.push_back(
          {{"kernel", one.kernel}, {"level", one.level}, {"name", name}, {"value", value}});
  }
  return tiles;
}

}  // namespace

std::string FullCheck(const Surroundings& around, const std::string& path,
                      const std::string& text) {
  driver::Options options = OptionsOfCheck(around, path, text);
  driver::Session session(options, around.families);
  session.unsaved = around.unsaved;
  driver::CompileRequest request;
  request.until = driver::Until::ModulePasses;
  request.text = text;
  driver::Compile(session, std::move(request));
  Json result{{"diagnostics", Json::array()}, {"tiles", Json::array()}};
  if (session.sources.file_count() > 0) {
    FileId file(0);
    Positions positions(session.sources.text(file));
    result["diagnostics"] = DiagnosticsOf(session.diagnostics, session.sources, file, positions);
  }
  if (!session.diagnostics.has_errors()) result["tiles"] = TilesOf(around, path, text);
  return JsonText(result);
}

}  // namespace kdl::tools::lsp
