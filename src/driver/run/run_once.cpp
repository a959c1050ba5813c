#include "driver/run/run_once.h"

#include <fmt/format.h>

#include <optional>
#include <vector>

#include "driver/diagnostics.h"
#include "driver/run/placed_message.h"
#include "driver/run/placed_program.h"

namespace kdl::driver {

void ReportFailure(const Failure& failure, const SourceManager& sources,
                   DiagnosticEngine& diagnostics) {
  std::optional<PlacedMessage> placed = ReadPlace(failure.message);
  std::vector<PlacedMessage> notes =
      placed ? TakeNotes(placed->text) : std::vector<PlacedMessage>();
  auto add_notes = [&](Diagnostic& report) {
    for (const PlacedMessage& note : notes) AddNote(note, sources, report);
  };
  Span span = placed ? MessageSpan(*placed, sources) : Span();
  if (failure.kind != FailureKind::User) {
    diagnostics.Report(diag::MachineFailed, span, span.valid() ? placed->text : failure.message);
    return;
  }
  if (span.valid()) {
    // Report the position of the launch, then the position of the kernel's requirement.
    std::optional<PlacedMessage> inner = ReadPlace(placed->text);
    Span inner_span = inner ? MessageSpan(*inner, sources) : Span();
    Diagnostic& report =
        diagnostics.Report(diag::Trapped, span, inner_span.valid() ? inner->text : placed->text);
    if (inner_span.valid()) report.Note(inner_span, "it is stated here");
    add_notes(report);
  } else if (placed) {
    add_notes(diagnostics.Report(diag::Trapped, {}, ToString(*placed)));
  } else {
    diagnostics.Report(diag::RunFailed, {}, failure.message);
  }
}

Status RunOnce(const RunPlace& place, const ir::Function& program, RunMemory memory,
               BoundProgram& bound) {
  PlacedProgram placed(place, program, memory);
  if (Status done = placed.Place(bound); !done.ok()) return done;
  // A part of a large tensor need not be in memory twice.
  for (BoundArgument& argument : bound.arguments)
    if (argument.part && argument.direction == ir::Direction::In) argument.tensor.bytes = {};
  if (Status done = placed.RunProgram(); !done.ok()) return done;
  if (place.traffic) *place.traffic = placed.executor().rank_traffic();
  return placed.TakeBack(bound);
}

}  // namespace kdl::driver
