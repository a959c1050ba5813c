#include "driver/run/locate_errors.h"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <vector>

#include "driver/diagnostics.h"
#include "driver/run/contracts.h"
#include "driver/run/placed_message.h"
#include "driver/run/reference.h"
#include "driver/run/run_once.h"
#include "interp/contract.h"

namespace kdl::driver {

namespace {

bool MeetsContract(const RunPlace& place, const BoundProgram& before, const BoundProgram& after) {
  return place.contract && !interp::BrokenEquation(*place.contract->contract,
                                                   EvaluatorData(*place.contract, before, after));
}

/// Reports the value that the interpreter has found.
void Report(const Failure& failure, const SourceManager& sources, DiagnosticEngine& diagnostics) {
  std::optional<PlacedMessage> found = ReadPlace(failure.message);
  if (!found || failure.kind != FailureKind::User)
    return ReportFailure(failure, sources, diagnostics);
  std::vector<PlacedMessage> notes = TakeNotes(found->text);
  Diagnostic& report =
      diagnostics.Report(diag::ErrorLocated, MessageSpan(*found, sources), found->text);
  for (const PlacedMessage& note : notes) AddNote(note, sources, report);
}

}  // namespace

bool LocateErrors(const RunPlace& place, const ir::Function& program, const BoundProgram& before,
                  const BoundProgram& after, DiagnosticEngine& diagnostics) {
  RunPlace reference = place;
  reference.launch_checks = LaunchChecks::Nothing;
  reference.ranks = {};
  reference.traffic = nullptr;
  const char* what = MeetsContract(place, before, after) ? "not-finite" : "errors";
  for (auto& [name, spec] : reference.specs) {
    spec = ReferenceFor(place, spec);
    spec += fmt::format("{}locate={}", spec.find('?') == std::string::npos ? '?' : '&', what);
  }
  BoundProgram again = before;
  Status ran = RunOnce(reference, DefiningProgram(place.module, program), {}, again);
  if (!ran.ok()) Report(ran.failure(), place.sources, diagnostics);
  return ran.ok();
}

}  // namespace kdl::driver
