#include "driver/run/argument_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "driver/diagnostics.h"
#include "driver/files.h"
#include "driver/run/draw.h"
#include "driver/run/draw_special.h"
#include "driver/run/loop_inputs.h"
#include "driver/run/npy.h"
#include "driver/run/source_types.h"
#include "support/file_parts.h"
#include "support/machine.h"

namespace kdl::driver {

namespace {

/// Reads the elements that `bound` stores from a file's array.
Status ReadPart(const ArgumentSpec& argument, BoundArgument& bound) {
  Result<FileParts> file = FileParts::OpenToRead(argument.path);
  if (!file.ok()) return file.failure();
  HostTensor& tensor = bound.tensor;
  int64_t size = Bytes(tensor.scalar);
  std::span<std::byte> left(tensor.bytes);
  Status status;
  ForEachStoredRun(bound, [&](int64_t first, int64_t count) {
    if (!status.ok()) return;
    auto bytes = static_cast<size_t>(count * size);
    status = file->ReadAt(*argument.unread + first * size, left.first(bytes));
    left = left.subspan(bytes);
  });
  if (tensor.scalar == Scalar::Bool) NormalizeBools(tensor.bytes);
  return status;
}

}  // namespace

ArgumentValues::ArgumentValues(const ir::Module& module, const ir::Function& program,
                               const std::vector<ArgumentSpec>& arguments,
                               DiagnosticEngine& diagnostics)
    : program_(program),
      arguments_(arguments),
      loop_inputs_(LoopInputs(module, program)),
      diagnostics_(diagnostics) {}

void ArgumentValues::Store(size_t index, BoundArgument& bound) const {
  const ir::Param& param = program_.params[index];
  HostTensor& tensor = bound.tensor;
  const ArgumentSpec* argument = FindArgument(arguments_, bound.name);
  if (argument && argument->kind == ArgumentSpec::Kind::File)
    return StoreFile(param, *argument, bound);
  tensor.bytes.assign(static_cast<size_t>(CountStoredElements(bound) * Bytes(tensor.scalar)), {});
  if (param.direction == ir::Direction::Out) return;
  bound.is_drawn = !argument;
  if (argument && argument->kind == ArgumentSpec::Kind::None) return;
  ElementOf element = Elements(param, index, argument);
  if (!element) return;
  int64_t at = 0;
  ForEachStoredRun(bound, [&](int64_t first, int64_t count) {
    for (int64_t n = first; n < first + count; ++n) SetElementBits(tensor, at++, element(n));
  });
}

/// Returns a function that computes an element from its number. Reports an argument that is not a number.
ArgumentValues::ElementOf ArgumentValues::Elements(const ir::Param& param, size_t index,
                                                   const ArgumentSpec* argument) const {
  Scalar scalar = param.value->type()->scalar;
  bool is_plain =
      argument ? argument->kind == ArgumentSpec::Kind::Random : loop_inputs_.contains(index);
  if (is_plain) {
    uint64_t seed = argument ? argument->seed.value_or(index + 1) : index + 1;
    return [=](int64_t n) { return DrawElement(scalar, seed, static_cast<uint64_t>(n)); };
  }
  if (!argument)
    return
        [=](int64_t n) { return DrawArgumentElement(scalar, index + 1, static_cast<uint64_t>(n)); };
  if (argument->kind == ArgumentSpec::Kind::Special)
    return [=, seed = argument->seed.value_or(0), is_tensor = IsTensor(param)](int64_t n) {
      return SpecialElement(scalar, is_tensor, seed, static_cast<uint64_t>(n));
    };
  if (argument->kind == ArgumentSpec::Kind::Iota)
    return [=](int64_t n) { return NumberBits(scalar, n); };
  if (std::optional<uint64_t> bits = ParseElement(scalar, argument->number))
    return [=](int64_t) { return *bits; };
  diagnostics_.Report(diag::BadArgument, {}, argument->text, argument->name, ParameterType(param))
      .Help(HelpFor(param));
  return {};
}

void ArgumentValues::StoreFile(const ir::Param& param, const ArgumentSpec& argument,
                               BoundArgument& bound) const {
  HostTensor& tensor = bound.tensor;
  if (argument.file.scalar != StoredAs(tensor.scalar)) {
    std::string found =
        fmt::format("{} ({})", NumpyName(argument.file.scalar), Spelling(argument.file.scalar));
    std::string wanted(NumpyName(tensor.scalar));
    diagnostics_
        .Report(diag::NpyDtype, {}, argument.path, found, argument.name, ParameterType(param))
        .Help(IsByteFloat(tensor.scalar) ? "8-bit floats are stored as their bits: save "
                                           "`x.view('uint8')` of an ml_dtypes array"
              : tensor.scalar == Scalar::BF16
                  ? "bf16 is stored as numpy dtype V2: save `(x.view('uint32') >> "
                    "16).astype('uint16').view('V2')` of a float32 array x"
                  : fmt::format("numpy.save('{}', x.astype(numpy.{}))", argument.path, wanted));
    return;
  }
  tensor.shape = argument.file.shape;
  if (!argument.unread) {
    tensor.bytes = argument.file.bytes;
    return;
  }
  tensor.bytes.resize(static_cast<size_t>(CountStoredElements(bound) * Bytes(tensor.scalar)));
  Status read = ReadPart(argument, bound);
  if (!read.ok()) ReportUnreadable(argument.path, read.failure(), diagnostics_);
}

bool ArgumentValues::StoreDistributed(const LocalRanks& ranks, BoundProgram& bound) const {
  size_t errors_before = diagnostics_.error_count();
  for (size_t i = 0; i < bound.arguments.size(); ++i) {
    BoundArgument& argument = bound.arguments[i];
    if (argument.distribution.empty()) continue;
    if (ranks.transport) argument.part = MakeOwnership(ranks.grid, argument).Owned(ranks.first);
    if (FitsInMemory(program_.params[i], argument)) Store(i, argument);
  }
  return diagnostics_.error_count() == errors_before;
}

bool ArgumentValues::FitsInMemory(const ir::Param& param, const BoundArgument& bound) const {
  int64_t most = PhysicalMemoryBytes();
  if (CountStoredElements(bound) <= most / Bytes(bound.tensor.scalar)) return true;
  diagnostics_.Report(diag::NoMemory, {}, bound.name, ParameterType(param), "", most);
  return false;
}

BoundProgram ArgumentValues::Whole(const BoundProgram& bound) const {
  BoundProgram whole = bound;
  for (size_t i = 0; i < whole.arguments.size(); ++i) {
    BoundArgument& argument = whole.arguments[i];
    if (!argument.part) continue;
    argument.part.reset();
    Store(i, argument);
  }
  return whole;
}

std::string ArgumentValues::HelpFor(const ir::Param& param) {
  Scalar scalar = param.value->type()->scalar;
  std::string number = scalar == Scalar::Bool ? "true or false"
                       : IsFloat(scalar)      ? "a number"
                                              : "a whole number that fits the type";
  return number + (IsTensor(param) ? ", @FILE.npy, random:SEED, special:SEED, zeros, ones or iota"
                                   : ", random:SEED or special:SEED");
}

}  // namespace kdl::driver
