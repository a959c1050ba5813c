#include "tools/lsp/server.h"

#include <fmt/format.h>

#include <exception>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "driver/diagnostics.h"
#include "kdl/version.h"
#include "support/background.h"
#include "support/diagnostics.h"
#include "support/parse_json.h"
#include "syntax/format.h"
#include "tools/lsp/code_actions.h"
#include "tools/lsp/completion.h"
#include "tools/lsp/connection.h"
#include "tools/lsp/diagnostics.h"
#include "tools/lsp/full_check.h"
#include "tools/lsp/hover.h"
#include "tools/lsp/inlay_hints.h"
#include "tools/lsp/navigation.h"
#include "tools/lsp/semantic_tokens.h"
#include "tools/lsp/signature_help.h"
#include "tools/lsp/workspace.h"

namespace kdl::tools::lsp {

namespace {

// The protocol's numbers of errors.
constexpr int kParseError = -32700;
constexpr int kInvalidRequest = -32600;
constexpr int kMethodNotFound = -32601;
constexpr int kInvalidParams = -32602;
constexpr int kRequestFailed = -32803;

/// How long nothing is typed before the proofs begin, which take longer than a keystroke.
constexpr int kPauseMilliseconds = 150;

/// Returns the edit that formats a file; no edit if it is formatted, or has syntax errors.
Json Formatting(Workspace&, Document& document, const Json&) {
  SourceManager sources;
  DiagnosticEngine ignored;
  FileId file = sources.Add(document.path, document.text);
  std::optional<std::string> text = syntax::FormatFile(sources, file, ignored);
  Json edits = Json::array();
  if (!text || *text == document.text) return edits;
  Positions positions(document.text);
  edits.push_back({{"range", positions.Range(0, static_cast<uint32_t>(document.text.size()))},
                   {"newText", *text}});
  return edits;
}

using Handler = Json (*)(Workspace&, Document&, const Json&);

/// A request about an open file, and the member with which the server says that it answers it.
struct Request {
  std::string_view method;
  std::string_view capability;
  Handler handler;
};
constexpr Request kRequests[] = {
    {"textDocument/hover", "hoverProvider", Hover},
    {"textDocument/definition", "definitionProvider", Definition},
    {"textDocument/references", "referencesProvider", References},
    {"textDocument/documentHighlight", "documentHighlightProvider", Highlights},
    {"textDocument/prepareRename", "", PrepareRename},
    {"textDocument/rename", "", Rename},
    {"textDocument/completion", "", Completion},
    {"textDocument/signatureHelp", "", SignatureHelp},
    {"textDocument/semanticTokens/full", "", SemanticTokens},
    {"textDocument/inlayHint", "inlayHintProvider", InlayHints},
    {"textDocument/codeAction", "", CodeActions},
    {"textDocument/documentSymbol", "documentSymbolProvider", Symbols},
    {"textDocument/formatting", "documentFormattingProvider", Formatting},
};

Json Capabilities() {
  constexpr int kIncremental = 2;
  Json all{{"textDocumentSync", {{"openClose", true}, {"change", kIncremental}}},
           {"renameProvider", {{"prepareProvider", true}}},
           {"completionProvider", {{"triggerCharacters", {".", "@"}}}},
           {"signatureHelpProvider", {{"triggerCharacters", {"(", ","}}}},
           {"semanticTokensProvider", {{"legend", TokenLegend()}, {"full", true}}},
           {"codeActionProvider", {{"codeActionKinds", {"quickfix"}}}}};
  for (const Request& request : kRequests) {
    if (!request.capability.empty()) all[std::string(request.capability)] = true;
  }
  return all;
}

/// The full check of a file, which runs in the background.
struct RunningCheck {
  std::string uri;
  int64_t version;
  std::unique_ptr<BackgroundWork> work;
};

class Server {
 public:
  Server(const targets::Registry& families, const driver::OptionTexts& defines)
      : workspace_(families, defines) {}

  int ServeUntilExit() {
    while (HandleAll() && !has_exited_ && Wait()) {
    }
    return was_shut_down_ ? driver::kExitDone : driver::kExitInput;
  }

 private:
  // ---- Messages

  /// Handles the messages that have arrived, then reports the errors of changed files. Returns false if the input
  /// cannot be used any more.
  bool HandleAll() {
    while (!has_exited_) {
      std::optional<std::string> text = connection_.Take();
      if (!text) break;
      auto message = ParseJson<Json>(*text);
      if (message.is_discarded()) {
        connection_.Fail(nullptr, kParseError, "the message is not JSON, or nested too deeply");
      } else {
        Handle(message);
      }
    }
    if (!has_exited_) PublishChanged();
    return !connection_.is_broken();
  }

  /// Waits for input, or for the full check, or until it is time to begin one. Returns false at the end of the input.
  bool Wait() {
    std::vector<int> descriptors{Connection::kDescriptor};
    if (check_) descriptors.push_back(check_->work->descriptor());
    bool may_begin = !check_ && !to_check_.empty();
    std::optional<size_t> ready = WaitForInput(descriptors, may_begin ? kPauseMilliseconds : -1);
    if (!ready) {
      if (may_begin) BeginCheck();
      return true;
    }
    if (*ready == 0) return connection_.Read();
    if (check_->work->Read()) EndCheck();
    return true;
  }

  void Handle(const Json& message) {
    if (!message.is_object() || !message.contains("method"))
      return;  // an answer to a request of the server
    auto method = message.value("method", std::string());
    Json id = message.contains("id") ? message["id"] : Json();
    Json params = message.contains("params") ? message["params"] : Json::object();
    try {
      if (id.is_null()) {
        HandleNotification(method, params);
      } else {
        HandleRequest(id, method, params);
      }
    } catch (const Json::exception& error) {
      if (!id.is_null()) connection_.Fail(id, kInvalidParams, error.what());
    } catch (const RequestError& error) {
      if (!id.is_null()) connection_.Fail(id, kRequestFailed, error.text);
    }
  }

  void HandleRequest(const Json& id, const std::string& method, const Json& params) {
    if (method == "initialize") {
      refreshes_hints_ =
          params.contains("/capabilities/workspace/inlayHint/refreshSupport"_json_pointer);
      return connection_.Reply(id,
                               {{"capabilities", Capabilities()},
                                {"serverInfo", {{"name", "kernelc"}, {"version", KDL_VERSION}}}});
    }
    if (method == "shutdown") {
      was_shut_down_ = true;
      return connection_.Reply(id, nullptr);
    }
    if (was_shut_down_)
      return connection_.Fail(id, kInvalidRequest, "the server has been shut down");
    for (const Request& request : kRequests) {
      if (request.method != method) continue;
      auto uri = params.at("textDocument").at("uri").get<std::string>();
      auto document = workspace_.documents.find(uri);
      if (document == workspace_.documents.end())
        throw RequestError{fmt::format("'{}' is not open", uri)};
      return connection_.Reply(id, request.handler(workspace_, document->second, params));
    }
    connection_.Fail(id, kMethodNotFound, fmt::format("there is no request '{}'", method));
  }

  void HandleNotification(const std::string& method, const Json& params) {
    if (method == "exit") has_exited_ = true;
    if (method == "textDocument/didOpen") Open(params.at("textDocument"));
    if (method == "textDocument/didChange") Change(params);
    if (method == "textDocument/didClose") Close(params.at("textDocument").at("uri"));
  }

  // ---- Files

  void Open(const Json& opened) {
    auto uri = opened.at("uri").get<std::string>();
    Document& document = workspace_.documents[uri];
    document.path = PathOf(uri);
    document.text = opened.at("text").get<std::string>();
    document.version = opened.value("version", 0);
    MarkChanged(uri, document);
    MarkImporters(document.path, true);
  }

  void Change(const Json& params) {
    auto uri = params.at("textDocument").at("uri").get<std::string>();
    auto found = workspace_.documents.find(uri);
    if (found == workspace_.documents.end()) return;
    Document& document = found->second;
    document.version = params.at("textDocument").value("version", document.version + 1);
    for (const Json& change : params.at("contentChanges")) {
      auto text = change.at("text").get<std::string>();
      if (!change.contains("range")) {
        document.text = std::move(text);
        continue;
      }
      Positions positions(document.text);
      uint32_t begin = positions.Offset(change["range"].at("start"));
      uint32_t end = std::max(begin, positions.Offset(change["range"].at("end")));
      document.text.replace(begin, end - begin, text);
    }
    MarkChanged(uri, document);
    MarkImporters(document.path, false);
  }

  /// Lets the open files that import a changed file be checked again. A file that has been opened or closed may be one that
  /// they have not found.
  void MarkImporters(const std::string& path, bool any_import) {
    for (auto& [uri, document] : workspace_.documents) {
      if (document.path == path || !document.analysis) continue;
      bool may_miss = any_import && document.text.find("import ") != std::string::npos;
      if (may_miss || document.analysis->Imports(path)) MarkChanged(uri, document);
    }
  }

  void MarkChanged(const std::string& uri, Document& document) {
    document.analysis.reset();
    changed_.insert(uri);
    to_check_.erase(uri);
    if (check_ && check_->uri == uri) check_.reset();
  }

  void Close(const std::string& uri) {
    auto closed = workspace_.documents.find(uri);
    if (closed == workspace_.documents.end()) return;
    std::string path = closed->second.path;
    workspace_.documents.erase(closed);
    MarkImporters(path, true);
    changed_.erase(uri);
    to_check_.erase(uri);
    if (check_ && check_->uri == uri) check_.reset();
    connection_.Notify("textDocument/publishDiagnostics",
                       {{"uri", uri}, {"diagnostics", Json::array()}});
  }

  // ---- Errors

  void Publish(const std::string& uri, int64_t version, const Json& diagnostics) {
    connection_.Notify("textDocument/publishDiagnostics",
                       {{"uri", uri}, {"version", version}, {"diagnostics", diagnostics}});
  }

  /// Reports the errors of changed files that need no proofs. Those without such an error are checked fully later.
  void PublishChanged() {
    for (const std::string& uri : std::exchange(changed_, {})) {
      Document& document = workspace_.documents.at(uri);
      const Analysis& analysis = workspace_.AnalysisOf(document);
      Publish(uri, document.version,
              DiagnosticsOf(analysis.session.diagnostics, analysis.session.sources, analysis.file,
                            analysis.positions));
      if (!analysis.has_errors()) to_check_.insert(uri);
    }
  }

  void BeginCheck() {
    std::string uri = *to_check_.begin();
    to_check_.erase(to_check_.begin());
    const Document& document = workspace_.documents.at(uri);
    auto work = BackgroundWork::Start(
        [&] { return FullCheck(workspace_.around(), document.path, document.text); });
    if (work) check_ = RunningCheck{uri, document.version, std::move(work)};
  }

  void EndCheck() {
    RunningCheck check = std::move(*check_);
    check_.reset();
    // There is no text if the compiler has failed, which it has reported on standard error.
    Json result = Json::parse(check.work->text(), nullptr, false);
    if (result.is_discarded()) return;
    Publish(check.uri, check.version, result["diagnostics"]);
    Document& document = workspace_.documents.at(check.uri);
    if (document.tiles == result["tiles"]) return;
    document.tiles = result["tiles"];
    if (refreshes_hints_)
      connection_.Send(
          {{"jsonrpc", "2.0"}, {"id", next_id_++}, {"method", "workspace/inlayHint/refresh"}});
  }

  Connection connection_;
  Workspace workspace_;
  std::set<std::string> changed_;   ///< the files whose errors have not been reported
  std::set<std::string> to_check_;  ///< the files that wait for a full check
  std::optional<RunningCheck> check_;
  bool refreshes_hints_ = false;  ///< the editor can be asked to request inlay hints again
  bool was_shut_down_ = false;
  bool has_exited_ = false;
  int next_id_ = 1;
};

}  // namespace

int Serve(const targets::Registry& families, const driver::OptionTexts& defines) {
  return Server(families, defines).ServeUntilExit();
}

}  // namespace kdl::tools::lsp
