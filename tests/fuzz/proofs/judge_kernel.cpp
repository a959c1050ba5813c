#include "judge_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <string_view>
#include <vector>

#include "drawn_launch.h"
#include "driver/compile/compile.h"
#include "driver/compile/module_passes.h"
#include "interp/run.h"
#include "passes/pipelines.h"
#include "proofs/proofs.h"
#include "targets/builtin.h"

namespace kdl::fuzz {

namespace {

constexpr std::string_view kDefinite[] = {"E0410", "E0411", "E0412", "E0413",
                                          "E0415", "E0417", "E0419", "E0447"};
constexpr std::string_view kUnproven[] = {"E0367", "E0370", "E0414", "E0416", "E0418",
                                          "E0422", "E0423", "E0440", "E0448"};

bool Holds(auto& ids, const std::string& id) {
  return std::find(std::begin(ids), std::end(ids), id) != std::end(ids);
}

enum class Proofs : uint8_t { Run, Skipped };

/// Runs the passes on a module. If the proofs are skipped, the accesses that check-bounds would refuse are
/// checked at run time instead.
driver::PipelineEnd RunPasses(driver::Session& session, ir::Module& module, Proofs proofs,
                              std::optional<uint64_t> steps) {
  if (proofs == Proofs::Run) {
    passes::PassContext context{module, session.diagnostics, session.sources};
    context.proof_steps = steps;
    return passes::RunPipeline(passes::kModulePipeline, context, {});
  }
  DiagnosticEngine refused;
  for (const passes::Pass* pass : passes::kModulePipeline) {
    if (pass == &passes::kCheckDisjoint || pass == &passes::kCheckOutputs) continue;
    bool may_refuse = pass == &passes::kCheckBounds;
    passes::PassContext context{module, may_refuse ? refused : session.diagnostics,
                                session.sources};
    driver::PipelineEnd end = passes::RunPipeline({&pass, 1}, context, {});
    if (end != driver::PipelineEnd::Done && !may_refuse) return end;
  }
  return driver::PipelineEnd::Done;
}

const targets::Registry& Families() {
  static const targets::Registry families = targets::BuiltinFamilies();
  return families;
}

/// A kernel compiled as far as the interpreter needs.
struct Compiled {
  driver::Options options;
  std::optional<driver::Session> session;
  driver::Compilation compilation;
  bool done = false;
  bool cores_agree = false;  ///< the result is the same for all numbers of cores

  Compiled(const std::string& text, Proofs proofs, std::optional<uint64_t> steps = {}) {
    options.files = {"drawn.kdl"};
    session.emplace(options, Families());
    compilation = driver::Compile(*session, {.until = driver::Until::Ir, .text = text});
    done = compilation.ok() &&
           RunPasses(*session, *compilation.module, proofs, steps) == driver::PipelineEnd::Done;
  }
  const ir::Function* kernel() const {
    for (const ir::Function* function : compilation.module->functions()) {
      if (function->kind == ir::FunctionKind::Kernel) return function;
    }
    return nullptr;
  }
};

/// Runs the launch again with a different number of cores, which distributes the blocks differently. Returns
/// a difference between the results, if there is one.
std::optional<std::string> FindOther(const Compiled& compiled, const DrawnLaunch& launch,
                                     const Sizes& sizes, int64_t cores, uint64_t seed) {
  DrawnLaunch other(*compiled.kernel(), sizes, seed);
  int64_t other_cores = cores % 3 + 2;
  auto run =
      other.Interpret(*compiled.compilation.module, *compiled.kernel(), other_cores, seed, false);
  if (!run.ok() || *run || launch.HasElementsOf(other)) return std::nullopt;
  return fmt::format("{} cores and {} cores leave different elements for {}, {}seed {}", cores,
                     other_cores, ToText(sizes), launch.said(), seed);
}

/// Returns what the sanitizer finds in one launch. Returns nothing if the launch is clean, or ends for
/// another reason.
std::optional<std::string> Find(const Compiled& compiled, const Sizes& sizes, int64_t cores,
                                uint64_t seed, Judgement& judgement) {
  const ir::Function& kernel = *compiled.kernel();
  DrawnLaunch launch(kernel, sizes, seed);
  if (!launch.fits()) return std::nullopt;
  uint64_t order = seed % 3 == 0 ? 0 : seed;
  auto run = launch.Interpret(*compiled.compilation.module, kernel, cores, order, true);
  if (!run.ok()) return std::nullopt;
  ++judgement.runs;
  if (!*run)
    return compiled.cores_agree ? FindOther(compiled, launch, sizes, cores, seed) : std::nullopt;
  // If a check ends a launch, there may have been a race before another core reached the check.
  DrawnLaunch again(kernel, sizes, seed);
  bool is_stuck = (*run)->code == KDL_TRAP_STUCK;  // the stages deadlock
  bool stops =
      !is_stuck && ((*run)->finding == interp::FindingKind::None ||
                    *again.Interpret(*compiled.compilation.module, kernel, cores, order, false));
  if (stops) {
    ++judgement.stops;
    return std::nullopt;
  }
  return fmt::format("{}\nfor {}, {}on {} cores, seed {}", interp::ToString(**run), ToText(sizes),
                     launch.said(), cores, seed);
}

/// Returns the sizes at the end of an error message: `…, for N = 5, M = 2`.
std::optional<Sizes> SizesIn(std::string_view text) {
  size_t at = text.rfind(", for ");
  if (at == std::string_view::npos) return std::nullopt;
  text.remove_prefix(at + 6);
  Sizes sizes;
  while (!text.empty()) {
    size_t equals = text.find(" = ");
    if (equals == std::string_view::npos) return std::nullopt;
    std::string name(text.substr(0, equals));
    text.remove_prefix(equals + 3);
    int64_t value = 0;
    auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (failed != std::errc()) return std::nullopt;
    sizes[name] = value;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
    if (text.starts_with(", ")) text.remove_prefix(2);
  }
  return sizes;
}

/// Returns the largest core number in the text, as in `core 2`; -1 if there is none.
int64_t GreatestCore(std::string_view text) {
  constexpr std::string_view kCore = "core ";
  int64_t greatest = -1;
  for (size_t at = text.find(kCore); at != std::string_view::npos; at = text.find(kCore, at + 1)) {
    int64_t core = -1;
    std::from_chars(text.data() + at + kCore.size(), text.data() + text.size(), core);
    greatest = std::max(greatest, core);
  }
  return greatest;
}

void JudgeAccepted(const Compiled& compiled, uint64_t seed, Judgement& judgement) {
  static constexpr int64_t kSizes[] = {0, 1, 2, 3, 4, 5, 6, 7, 9};
  static constexpr int64_t kCores[] = {1, 2, 3, 5};
  static constexpr int64_t kGreat[] = {0,
                                       1,
                                       2,
                                       3,
                                       int64_t{1} << 31,
                                       (int64_t{1} << 32) - 1,
                                       int64_t{1} << 32,
                                       (int64_t{1} << 24) - 1,
                                       int64_t{1} << 40,
                                       (int64_t{1} << 43) - 1};
  std::mt19937_64 random(seed);
  for (int n = 0; n < 8; ++n) {
    // Each size is small at least once, so that corner cases are likely.
    Sizes sizes = {{"N", kSizes[random() % std::size(kSizes)]}, {"M", kSizes[random() % 6]}};
    if (n == 0) sizes["N"] = 5;
    // These sizes are large. They only occur in tensors without elements.
    for (const char* name : {"H", "G"}) sizes[name] = kGreat[random() % std::size(kGreat)];
    // Only some kernels have these sizes. A launch whose sizes violate the kernel's `where` is not counted.
    int64_t n_size = sizes["N"];
    int64_t m_size = sizes["M"];
    const int64_t related[] = {n_size * m_size, n_size + m_size, n_size * m_size + 1,
                               n_size * m_size - 1};
    sizes["L"] = std::max<int64_t>(related[n % 4], 0);
    sizes["K"] = std::max<int64_t>(std::min(n_size, m_size) + n % 3 - 1, 0);
    int64_t cores = kCores[random() % std::size(kCores)];
    auto found = Find(compiled, sizes, cores, random(), judgement);
    if (!found) continue;
    judgement.verdict = Verdict::Unsound;
    judgement.what = *found;
    return;
  }
}

/// Checks that a launch with the sizes in the error message fails, for any data.
void JudgeDefinite(const std::string& text, const Diagnostic& error, uint64_t seed,
                   Judgement& judgement) {
  judgement.verdict = Verdict::Definite;
  std::optional<Sizes> sizes = SizesIn(error.text);
  if (!sizes) return;
  Compiled compiled(text, Proofs::Skipped);
  if (!compiled.done) return;
  int64_t least = std::max<int64_t>(2, GreatestCore(error.text) + 1);
  std::vector<int64_t> numbers = {least, least + 1};
  if (auto named = sizes->find("core_num"); named != sizes->end()) numbers = {named->second};
  for (int64_t cores : numbers) {
    int64_t stops = judgement.stops;
    int64_t runs = judgement.runs;
    if (Find(compiled, *sizes, cores, seed, judgement)) continue;
    if (judgement.stops != stops || judgement.runs == runs) continue;
    judgement.verdict = Verdict::Untrue;
    judgement.what = fmt::format("{} [{}]\nand the watch finds nothing, on {} cores, seed {}",
                                 error.text, error.id, cores, seed);
    return;
  }
}

}  // namespace

bool IsRightlyRefused(const std::string& text, uint64_t seed) {
  Compiled unproven(text, Proofs::Skipped);
  Judgement judgement;
  if (unproven.done) JudgeAccepted(unproven, seed, judgement);
  return judgement.verdict == Verdict::Unsound && !Compiled(text, Proofs::Run).done;
}

bool IsAcceptedWith(const Fault& fault, const std::string& text) {
  driver::Options options;
  options.files = {"drawn.kdl"};
  driver::Session session(options, Families());
  driver::CompileRequest request{.until = driver::Until::ModulePasses, .text = text};
  request.edit = [&](driver::Compilation& made) { return fault.plant(*made.module); };
  return driver::Compile(session, std::move(request)).ok();
}

Judgement JudgeKernel(const DrawnKernel& kernel, uint64_t seed) {
  Judgement judgement;
  Compiled compiled(kernel.text, Proofs::Run, kernel.steps);
  compiled.cores_agree = kernel.cores_agree;
  if (compiled.done) {
    JudgeAccepted(compiled, seed, judgement);
    return judgement;
  }
  const Diagnostic* first = nullptr;
  for (const auto& one : compiled.session->diagnostics.all()) {
    if (!first && one->severity == Severity::Error) first = one.get();
  }
  judgement.what = fmt::format("{} [{}]", first->text, first->id);
  bool definite = Holds(kDefinite, first->id);
  judgement.verdict = definite                      ? Verdict::Definite
                      : Holds(kUnproven, first->id) ? Verdict::Unproven
                                                    : Verdict::Malformed;
  if (definite) JudgeDefinite(kernel.text, *first, seed, judgement);
  return judgement;
}

}  // namespace kdl::fuzz
