#include "driver/run/select.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "driver/defines.h"
#include "driver/diagnostics.h"
#include "driver/run/npy.h"
#include "driver/run/sizes.h"
#include "ir/optional_params.h"
#include "support/near_names.h"

namespace kdl::driver {

namespace {

using ir::Function;
using ir::FunctionKind;

std::string_view Word(FunctionKind kind) {
  return kind == FunctionKind::Program ? "program" : "kernel";
}

std::vector<Function*> FunctionsOf(const ir::Module& module, FunctionKind kind,
                                   bool only_exported) {
  std::vector<Function*> found;
  for (Function* function : module.functions()) {
    if (function->kind == kind && (function->exported || !only_exported)) found.push_back(function);
  }
  return found;
}

/// Returns the names that the functions have in the source, without duplicates.
std::vector<std::string_view> BaseNames(const std::vector<Function*>& functions) {
  std::vector<std::string_view> names;
  for (const Function* function : functions) {
    if (std::find(names.begin(), names.end(), function->base_name()) == names.end())
      names.push_back(function->base_name());
  }
  return names;
}

std::vector<Function*> Named(const std::vector<Function*>& functions, std::string_view name) {
  std::vector<Function*> found;
  std::copy_if(functions.begin(), functions.end(), std::back_inserter(found),
               [&](const Function* f) { return IsNamed(*f, name); });
  return found;
}

/// Returns the instances that -D does not exclude. If -D excludes all of them, returns all.
std::vector<Function*> WithinDefines(const std::vector<Function*>& instances,
                                     const Options& options) {
  std::vector<Function*> within;
  std::ranges::copy_if(instances, std::back_inserter(within),
                       [&](const Function* instance) { return !IsLeftOut(*instance, options); });
  return within.empty() ? instances : within;
}

/// Returns the instances of the function that the user named.
std::vector<Function*> Asked(const ir::Module& module, const std::string& file, FunctionKind kind,
                             const std::string& name, DiagnosticEngine& diagnostics) {
  std::vector<Function*> all = FunctionsOf(module, kind, false);
  std::vector<Function*> found = Named(all, name);
  if (!found.empty()) return found;
  Diagnostic& report = diagnostics.Report(diag::UnknownProgram, {}, file, Word(kind), name);
  std::vector<std::string_view> names = BaseNames(all);
  std::string_view nearest = NearestName(name, names);
  FunctionKind other = kind == FunctionKind::Program ? FunctionKind::Kernel : FunctionKind::Program;
  if (!Named(FunctionsOf(module, other, false), name).empty()) {
    report.Help(fmt::format("'{}' is a {}: --{} {}", name, Word(other), Word(other), name));
  } else if (!nearest.empty()) {
    report.Help(fmt::format("did you mean '{}'?", nearest));
  } else if (!names.empty()) {
    report.Help(fmt::format("it has {}", QuotedList(names)));
  }
  return {};
}

/// Returns the instances of the only function that can be run. Reports an error if there are
/// several such functions.
std::vector<Function*> OnlyOne(const ir::Module& module, const std::string& file,
                               DiagnosticEngine& diagnostics) {
  for (FunctionKind kind : {FunctionKind::Program, FunctionKind::Kernel}) {
    for (bool only_exported : {true, false}) {
      std::vector<Function*> found = FunctionsOf(module, kind, only_exported);
      std::vector<std::string_view> names = BaseNames(found);
      if (names.empty()) continue;
      if (names.size() == 1) return found;
      diagnostics
          .Report(diag::WhichProgram, {}, file,
                  fmt::format("the {}s {}", Word(kind), QuotedList(names)))
          .Help(fmt::format("name one: --{} {}", Word(kind), names[0]));
      return {};
    }
  }
  diagnostics.Report(diag::NothingToRun, {}, file);
  return {};
}

bool IsNone(const ArgumentSpec* argument) {
  return argument != nullptr && argument->kind == ArgumentSpec::Kind::None;
}

/// Returns the instances in which exactly those optional parameters are absent for which `none` is given.
std::vector<Function*> WithOptionals(const std::vector<Function*>& instances,
                                     const std::vector<ArgumentSpec>& arguments) {
  std::vector<Function*> fitting;
  std::ranges::copy_if(instances, std::back_inserter(fitting), [&](const Function* instance) {
    return std::ranges::all_of(instance->params, [&](const ir::Param& param) {
      bool is_none = IsNone(FindArgument(arguments, param.value->name().text()));
      return ir::Presence(*instance, param).value_or(!is_none) == !is_none;
    });
  });
  return fitting;
}

/// Returns why an instance does not accept the given files, or an empty string if it does.
std::string Mismatch(const Function& function, const std::vector<ArgumentSpec>& arguments) {
  for (const ir::Param& param : function.params) {
    const ArgumentSpec* argument = FindArgument(arguments, param.value->name().text());
    if (!argument || argument->kind != ArgumentSpec::Kind::File) continue;
    Scalar wanted = param.value->type()->scalar;
    if (argument->file.scalar == wanted) continue;
    return fmt::format("'{}' contains {} ({})", argument->path, NumpyName(argument->file.scalar),
                       Spelling(argument->file.scalar));
  }
  return {};
}

/// Returns the types that distinguish the instances, such as `T = f16, bf16 and f32`.
std::string Kinds(const std::vector<Function*>& instances, std::string& generic) {
  std::string text;
  for (size_t i = 0; i < instances[0]->bindings.size(); ++i) {
    std::set<Scalar> seen;
    std::string kinds;
    for (const Function* instance : instances) {
      if (!seen.insert(instance->bindings[i].scalar).second) continue;
      kinds +=
          fmt::format("{}{}", kinds.empty() ? "" : ", ", Spelling(instance->bindings[i].scalar));
    }
    if (seen.size() > 1 && generic.empty()) generic = instances[0]->bindings[i].name.str();
    text += fmt::format("{}{} = {}", text.empty() ? "" : "; ",
                        instances[0]->bindings[i].name.text(), kinds);
  }
  return text;
}

Function* PickInstance(const std::vector<Function*>& instances,
                       const std::vector<ArgumentSpec>& arguments, DiagnosticEngine& diagnostics) {
  if (instances.size() == 1)
    return instances[0];  // the caller then reports mismatches for each parameter
  std::vector<Function*> fitting;
  std::string mismatch;
  for (Function* instance : instances) {
    std::string reason = Mismatch(*instance, arguments);
    if (reason.empty()) fitting.push_back(instance);
    mismatch = reason.empty() ? mismatch : reason;
  }
  if (fitting.size() == 1) return fitting[0];
  std::string generic;
  std::string kinds = Kinds(fitting.empty() ? instances : fitting, generic);
  std::string_view name = instances[0]->base_name();
  if (fitting.empty()) {
    diagnostics.Report(diag::NoSuchKind, {}, name, mismatch)
        .Help(fmt::format("it is compiled for {}", kinds));
  } else {
    Scalar example = fitting.back()->bindings[0].scalar;
    for (const ir::TypeBinding& binding : fitting.back()->bindings) {
      if (binding.name.text() == generic) example = binding.scalar;
    }
    diagnostics.Report(diag::WhichKind, {}, name, kinds, generic)
        .Help(fmt::format("choose one with -D {}={}", generic, Spelling(example)));
  }
  return nullptr;
}

}  // namespace

bool IsNamed(const ir::Function& function, std::string_view name) {
  return function.base_name() == name || function.name.text() == name;
}

bool IsLeftOut(const ir::Function& instance, const Options& options) {
  DiagnosticEngine ignored;
  auto defines = ReadDefines(options, ignored);
  return defines && std::ranges::any_of(*defines, [&](const sema::Define& define) {
           return std::ranges::any_of(instance.bindings, [&](const ir::TypeBinding& binding) {
             return binding.name.text() == define.name &&
                    std::ranges::find(define.values, Spelling(binding.scalar)) ==
                        define.values.end();
           });
         });
}

ir::Function* SelectFunction(const ir::Module& module, const std::string& file,
                             const std::vector<ArgumentSpec>& arguments, const Options& options,
                             DiagnosticEngine& diagnostics) {
  if (!options.program.empty() && !options.kernel.empty()) {
    diagnostics.Report(diag::ProgramAndKernel, {}).Help("remove one of them");
    return nullptr;
  }
  std::vector<Function*> instances =
      !options.program.empty()
          ? Asked(module, file, FunctionKind::Program, options.program, diagnostics)
      : !options.kernel.empty()
          ? Asked(module, file, FunctionKind::Kernel, options.kernel, diagnostics)
          : OnlyOne(module, file, diagnostics);
  instances = WithOptionals(WithinDefines(instances, options), arguments);
  return instances.empty() ? nullptr : PickInstance(instances, arguments, diagnostics);
}

std::vector<sema::Define> GenericsFromData(const ir::Function& program,
                                           const std::vector<ArgumentSpec>& arguments,
                                           const Options& options, DiagnosticEngine& diagnostics) {
  auto is_open = [](const ir::Generic& generic) {
    return generic.values.empty() && generic.choices.empty();
  };
  if (std::ranges::none_of(program.generics, is_open)) return {};
  std::optional<SizeValues> values = BindSizes(program, arguments, options, diagnostics);
  std::vector<sema::Define> defines;
  for (const ir::Generic& generic : program.generics) {
    if (!values || !is_open(generic) || !values->contains(generic.name)) continue;
    std::string value = fmt::format("{}", values->at(generic.name).value);
    defines.push_back({generic.name.str(), {value}, std::string(program.base_name())});
  }
  return defines;
}

bool BindGenerics(ir::Function& kernel, const std::vector<ArgumentSpec>& arguments,
                  const Options& options, DiagnosticEngine& diagnostics) {
  std::optional<SizeValues> values = BindSizes(kernel, arguments, options, diagnostics);
  if (!values) return false;
  for (ir::Generic& generic : kernel.generics) {
    auto known = values->find(generic.name);
    if (known != values->end() && generic.values.empty()) generic.values = {known->second.value};
  }
  return true;
}

Options WithoutConstants(const Options& options, const Function& kernel) {
  Options left = options;
  std::erase_if(left.set, [&](const std::string& text) {
    return std::ranges::any_of(kernel.generics, [&](const ir::Generic& generic) {
      return text.substr(0, text.find('=')) == generic.name.text();
    });
  });
  return left;
}

std::vector<Function*> SelectKernels(const ir::Module& module, const std::string& file,
                                     const Options& options, DiagnosticEngine& diagnostics) {
  if (!options.kernel.empty())
    return WithinDefines(Asked(module, file, FunctionKind::Kernel, options.kernel, diagnostics),
                         options);
  std::vector<Function*> found = FunctionsOf(module, FunctionKind::Kernel, true);
  if (found.empty()) found = FunctionsOf(module, FunctionKind::Kernel, false);
  if (found.empty()) diagnostics.Report(diag::NothingToRun, {}, file);
  return WithinDefines(found, options);
}

}  // namespace kdl::driver
