#include "driver/compile/session.h"

#include <fmt/format.h>

#include "driver/diagnostics.h"
#include "driver/report.h"
#include "proofs/proofs.h"

namespace kdl::driver {

int Finish(const Session& session) {
  bool printed = PrintOutput(session.printed);
  if (session.options.time_passes) {
    for (const passes::PassRun& run : session.times)
      PrintAside(fmt::format("{:>10.3f} ms  {}\n", run.seconds * 1e3, run.name));
    PrintAside(fmt::format("{:>10} proofs\n", proofs::ProofsTried()));
  }
  PrintDiagnostics(session.diagnostics, session.sources);
  int code = ExitCodeOf(session.diagnostics);
  return code == kExitDone && !printed ? kExitEnvironment : code;
}

}  // namespace kdl::driver
