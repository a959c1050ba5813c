#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <utility>

#include "ir/builder.h"
#include "ir/op_kind.h"
#include "passes/diagnostics.h"
#include "passes/passes.h"
#include "passes/rewriting/bind_constants.h"
#include "support/check.h"

// instantiate: makes one kernel for each set of constants.
//   kernel @f.f32 generics(D = 64 | 128, BM = auto)  ->  @f.f32.D64 and @f.f32.D128, BM still open
//   launch @f.f32 {constants = "BM = 32"}            ->  launch @f.f32.BM32 {constants = "BM=32"}

namespace kdl::passes {

namespace {

using ir::Function;
using ir::Generic;

constexpr size_t kMaxVariants = 8;

struct Binding {
  Name generic;
  int64_t value;
};

/// The constants of a launch.
struct Constants {
  std::vector<Binding> bindings;
  std::vector<Name> open;  ///< constants for which the program has no value
};

/// Returns the value of `text`, which is a number or an integer parameter of the program with exactly one
/// value.
std::optional<int64_t> KnownValue(std::string_view text, const Function& program) {
  int64_t value = 0;
  auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec == std::errc() && end.ptr == text.data() + text.size()) return value;
  for (const Generic& generic : program.generics) {
    if (generic.name.text() == text && generic.values.size() == 1) return generic.values[0];
  }
  return std::nullopt;
}

/// Parses a list like `BM = 64, BN = D, BK = 2*D`. Returns nothing if the list is malformed, which is
/// possible in a .kir file.
std::optional<Constants> ParseConstants(std::string_view text, const Function& program,
                                        Names& names) {
  Constants constants;
  while (!text.empty()) {
    size_t comma = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, comma);
    size_t equal = part.find('=');
    if (equal == 0 || equal == std::string_view::npos) return std::nullopt;
    size_t name_end = part.find_last_not_of(' ', equal - 1) + 1;
    std::string_view value =
        part.substr(std::min(part.find_first_not_of(' ', equal + 1), part.size()));
    if (value.empty()) return std::nullopt;
    Name name = names.Intern(part.substr(0, name_end));
    if (std::optional<int64_t> number = KnownValue(value, program))
      constants.bindings.push_back({name, *number});
    else
      constants.open.push_back(name);
    text.remove_prefix(std::min(comma + 1, text.size()));
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  }
  return constants;
}

std::string ConstantsText(const std::vector<Binding>& bindings) {
  std::string text;
  for (const Binding& binding : bindings) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", binding.generic.text(), binding.value);
  }
  return text;
}

std::string ChoicesText(const std::vector<int64_t>& choices) {
  return fmt::format("{}", fmt::join(choices, ", "));
}

class Instantiation {
 public:
  explicit Instantiation(PassContext& context) : context_(context), module_(context.module) {}

  void Instantiate() {
    DropParts();
    std::vector<Function*> sources = module_.functions();
    for (Function* function : sources) {
      if (function->kind == ir::FunctionKind::Program) BindLaunches(*function);
    }
    for (Function* function : sources) {
      if (function->kind != ir::FunctionKind::Program) continue;
      CheckGiven(*function, CheckProgram(*function));
    }
    for (Function* function : sources) {
      if (function->kind == ir::FunctionKind::Kernel) Split(*function);
    }
    LeaveOutUnbound();
    for (Function* function : sources) {
      if (function->kind == ir::FunctionKind::Program) CheckLaunches(*function);
    }
    std::erase_if(module_.functions(), [&](Function* f) { return IsDead(f); });
    for (Function* function : module_.functions()) BindConstants(*function, module_);
  }

 private:
  Names& names() { return module_.context().names; }

  /// Returns whether the value of the generic is unknown: the number of given values is not one, and no
  /// dimension of a tensor has the name of the generic.
  static bool IsOpen(const Function& program, const Generic& generic) {
    return generic.values.size() != 1 && program.FindDim(generic.name) == nullptr;
  }

  /// Removes programs that get their constants from the programs that call them: they have been inlined into
  /// their callers and are not needed any more. If a module has only one program, that is the one to run, and
  /// it is kept.
  void DropParts() {
    auto is_program = [](const Function* f) { return f->kind == ir::FunctionKind::Program; };
    if (std::ranges::count_if(module_.functions(), is_program) < 2) return;
    std::erase_if(module_.functions(), [&](const Function* f) {
      return is_program(f) && !f->exported && std::ranges::any_of(f->generics, [&](const auto& g) {
               return IsOpen(*f, g) || (g.values.empty() && g.choices.empty());
             });
    });
  }

  /// Returns whether all constants of the program have values. Reports constants that have none.
  bool CheckProgram(const Function& program) {
    bool is_given = true;
    for (const Generic& generic : program.generics) {
      if (!IsOpen(program, generic)) continue;
      std::vector<int64_t> values = generic.values.empty() ? generic.choices : generic.values;
      std::string has =
          values.empty() ? "no value" : fmt::format("the values {}", ChoicesText(values));
      context_.diagnostics
          .Report(diag::ProgramOpen, context_.SpanOf(program.loc), generic.name.text(),
                  program.base_name(), has)
          .Help(fmt::format("give it a value with -D {0}={1} or a default with `{0}: int = {1}`, "
                            "or make {0} a dimension of a parameter",
                            generic.name.text(), values.empty() ? 64 : values[0]));
      is_given = false;
    }
    return is_given;
  }

  void BindLaunches(Function& program) {
    ir::Walk(program.body, [&](ir::Op* op) {
      if (op->kind() != ir::OpKind::Launch || !op->HasAttr(ir::AttrKey::Constants)) return;
      std::string_view text = op->attr<ir::AttrKey::Constants>().text();
      std::optional<Constants> constants = ParseConstants(text, program, names());
      if (!constants) {
        context_.diagnostics.Report(diag::MalformedConstants, context_.SpanOf(op->loc()), text)
            .Help("constants = \"BM = 64, BN = 32\"");
        return;
      }
      Function* kernel = module_.FindFunction(op->attr<ir::AttrKey::Callee>());
      if (!constants->open.empty()) {
        handed_on_[op] = constants->open[0];
        return;
      }
      const std::vector<Binding>& bindings = constants->bindings;
      Function* variant = Variant(*kernel, bindings, op->loc());
      op->SetAttr(ir::MakeAttr<ir::AttrKey::Callee>(variant->name));
      op->SetAttr(ir::MakeAttr<ir::AttrKey::Constants>(names().Intern(ConstantsText(bindings))));
    });
  }

  /// Checks that every constant of a launched kernel has a value. `is_given` must be false if a constant of
  /// the program itself has no value, which has already been reported.
  void CheckGiven(const Function& program, bool is_given) {
    ir::Walk(program.body, [&](ir::Op* op) {
      if (op->kind() != ir::OpKind::Launch) return;
      Function* kernel = module_.FindFunction(op->attr<ir::AttrKey::Callee>());
      for (const Generic& generic : kernel->generics) {
        bool is_alone = op->loc() == kernel->loc;  // `run` made this program for the kernel
        auto handed_on = handed_on_.find(op);
        bool is_open = handed_on != handed_on_.end() && handed_on->second == generic.name;
        bool has_value = generic.is_auto || !generic.values.empty() || is_alone;
        if (has_value && !is_open) continue;
        open_.push_back(kernel);
        if (!is_given) return;
        std::string_view name = generic.name.text();
        context_.diagnostics
            .Report(diag::LaunchOpen, context_.SpanOf(op->loc()), name, kernel->base_name())
            .Help(fmt::format("list its values in the declaration of '{1}' or of the program, "
                              "`{0}: int in {{32, 64}}`, or with -D {0}=32,64; or give one value "
                              "in the launch: {1}<{0} = …>(…)",
                              name, kernel->base_name()));
        return;
      }
    });
  }

  static bool IsIn(const std::vector<Function*>& functions, const Function* f) {
    return Contains(functions, f);
  }
  bool IsDead(const Function* f) const { return IsIn(dead_, f); }

  /// Checks that each launch runs a kernel that still exists, and only one variant of it.
  void CheckLaunches(Function& program) {
    ir::Walk(program.body, [&](ir::Op* op) {
      if (op->kind() != ir::OpKind::Launch) return;
      const Function* kernel = module_.FindFunction(op->attr<ir::AttrKey::Callee>());
      auto is_open = [](const Generic& generic) { return generic.values.size() > 1; };
      bool is_one = !IsDead(kernel) && std::ranges::none_of(kernel->generics, is_open);
      if (is_one || IsIn(open_, kernel)) return;
      std::string open;
      for (const Generic& generic : kernel->generics) {
        if (generic.is_auto || generic.values.size() == 1) continue;
        open += fmt::format("{}{} = {}", open.empty() ? "" : "; ", generic.name.text(),
                            ChoicesText(generic.values));
      }
      context_.diagnostics
          .Report(diag::SeveralVariants, context_.SpanOf(op->loc()), kernel->base_name(), open)
          .Help(fmt::format("give one value with -D {0}=…, or write {1}<{0} = …>(…)",
                            open.substr(0, open.find(' ')), kernel->base_name()));
    });
  }

  static bool HasAll(const Function& kernel, const std::vector<Binding>& bindings) {
    return std::all_of(bindings.begin(), bindings.end(), [&](const Binding& binding) {
      return std::any_of(kernel.generics.begin(), kernel.generics.end(),
                         [&](const Generic& generic) {
                           return generic.name == binding.generic &&
                                  generic.values == std::vector<int64_t>{binding.value};
                         });
    });
  }

  /// Returns the kernel with these constants, and makes it if it does not exist yet.
  Function* Variant(Function& kernel, const std::vector<Binding>& bindings, ir::Loc loc) {
    if (HasAll(kernel, bindings)) return &kernel;
    std::string name = kernel.name.str();
    for (const Binding& binding : bindings)
      name += fmt::format(".{}{}", binding.generic.text(), binding.value);
    Name interned = names().Intern(name);
    if (Function* known = module_.FindFunction(interned)) return known;
    Function* variant = ir::CloneFunction(kernel, module_, interned);
    for (const Binding& binding : bindings) {
      for (Generic& generic : variant->generics) {
        if (generic.name == binding.generic) generic.values = {binding.value};
      }
    }
    instantiated_.push_back(&kernel);
    CheckValues(*variant, loc);
    return variant;
  }

  void CheckValues(const Function& kernel, ir::Loc loc) {
    for (const Generic& generic : kernel.generics) {
      for (int64_t value : generic.values) CheckValue(kernel, generic, value, loc);
    }
  }

  void CheckValue(const Function& kernel, const Generic& generic, int64_t value, ir::Loc loc) {
    const auto& choices = generic.choices;
    if (!choices.empty() && !Contains(choices, value)) {
      context_.diagnostics.Report(diag::NotAChoice, context_.SpanOf(loc), generic.name.text(),
                                  value, kernel.base_name(), ChoicesText(choices));
    }
    for (const ir::Axis& axis : kernel.axes) {
      bool is_extent = axis.extent->kind == SizeKind::Symbol && axis.extent->symbol == generic.name;
      bool may_be_empty = axis.domain == axis.extent;  // as for `range d in D`
      int64_t least = may_be_empty ? 0 : 1;
      if (!is_extent || (value >= least && value <= INT32_MAX)) continue;
      context_.diagnostics.Report(diag::NotPositive, context_.SpanOf(loc), generic.name.text(),
                                  value, axis.name.text(), least);
      return;
    }
  }

  /// Makes one kernel for each combination of the generics' values, or keeps the kernel if there is only one.
  void Split(Function& kernel) {
    CheckValues(kernel, kernel.loc);
    if (!AllKnown(kernel)) return;
    std::vector<std::vector<Binding>> combinations = {{}};
    for (const Generic& generic : kernel.generics) {
      if (generic.values.size() < 2) continue;
      std::vector<std::vector<Binding>> longer;
      for (const auto& combination : combinations) {
        for (int64_t value : generic.values) {
          longer.push_back(combination);
          longer.back().push_back({generic.name, value});
        }
      }
      combinations = std::move(longer);
    }
    if (combinations.size() > kMaxVariants) {
      context_.diagnostics.Report(diag::TooManyVariants, context_.SpanOf(kernel.loc),
                                  kernel.base_name(), combinations.size());
    } else if (combinations.size() > 1) {
      for (const auto& combination : combinations) Variant(kernel, combination, kernel.loc);
      dead_.push_back(&kernel);
    }
  }

  /// Returns whether all constants of the kernel are known. If launches provide values, the kernel itself is
  /// dropped in favor of its variants.
  bool AllKnown(Function& kernel) {
    for (const Generic& generic : kernel.generics) {
      if (!generic.values.empty() || generic.is_auto) continue;
      if (IsIn(instantiated_, &kernel) || IsIn(open_, &kernel))
        dead_.push_back(&kernel);
      else
        unbound_.emplace_back(&kernel, &generic);
      return false;
    }
    return true;
  }

  bool IsLaunched(const Function& kernel) const {
    bool found = false;
    for (const Function* function : module_.functions()) {
      if (function->kind != ir::FunctionKind::Program) continue;
      ir::Walk(function->body, [&](const ir::Op* op) {
        found |= op->kind() == ir::OpKind::Launch && op->attr<ir::AttrKey::Callee>() == kernel.name;
      });
    }
    return found;
  }

  /// A constant without a value is an error if the kernel is launched, or if nothing else can be compiled.
  /// Otherwise, the kernel is left out, with a warning if it is exported.
  void LeaveOutUnbound() {
    bool has_others = std::ranges::any_of(module_.functions(), [&](Function* function) {
      bool is_unbound = std::ranges::any_of(
          unbound_, [&](const auto& unbound) { return unbound.first == function; });
      return function->exported && function->kind != ir::FunctionKind::Fn && !is_unbound &&
             !IsDead(function);
    });
    for (const auto& [kernel, generic] : unbound_) {
      bool is_left_out = has_others && !IsLaunched(*kernel);
      if (is_left_out) dead_.push_back(kernel);
      if (is_left_out && !kernel->exported) continue;
      ir::Loc loc = kernel->loc;
      Diagnostic& told =
          is_left_out ? context_.diagnostics.Report(diag::KernelLeftOut, context_.SpanOf(loc),
                                                    kernel->base_name(), generic->name.text())
                      : context_.diagnostics.Report(diag::UnboundGeneric, context_.SpanOf(loc),
                                                    generic->name.text(), kernel->base_name());
      std::string help =
          fmt::format("give it a value on the command line: {}", ExampleOption(*generic));
      if (!generic->choices.empty())
        help += fmt::format("; or give it a default: {}", ExampleDefault(*generic));
      told.Help(help);
    }
  }

  static std::string ExampleDefault(const Generic& generic) {
    return fmt::format("`{}: int in {{{}}} = {}`", generic.name.text(),
                       ChoicesText(generic.choices), generic.choices[0]);
  }

  static std::string ExampleOption(const Generic& generic) {
    std::string_view name = generic.name.text();
    if (generic.choices.size() == 1) return fmt::format("-D {}={}", name, generic.choices[0]);
    bool is_free = generic.choices.empty();
    return fmt::format("-D {0}={1}, or -D {0}={1},{2} for two variants", name,
                       is_free ? 64 : generic.choices[0], is_free ? 128 : generic.choices[1]);
  }

  PassContext& context_;
  ir::Module& module_;
  std::vector<Function*> instantiated_;
  std::vector<Function*> dead_;
  /// Kernels, each with a generic without a value.
  std::vector<std::pair<Function*, const Generic*>> unbound_;
  /// Kernels launched without a value that they need; already reported.
  std::vector<Function*> open_;
  /// For each launch, a constant for which the program has no value.
  std::map<const ir::Op*, Name> handed_on_;
};

}  // namespace

void RunInstantiate(PassContext& context) { Instantiation(context).Instantiate(); }

}  // namespace kdl::passes
