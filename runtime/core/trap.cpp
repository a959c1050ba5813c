#include "core/trap.h"

#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "core/element.h"
#include "core/view.h"
#include "kdl/scalar.h"

namespace kdl::runtime {

namespace {

std::string_view TrapText(std::int32_t code) {
  switch (code) {
#define KDL_TRAP_CODE(ID, code, text) \
  case code:                          \
    return text;
#include "kdl/abi.def"
    default:
      return "";
  }
}

std::string PlaceText(const kdl_location& location) {
  if (location.line == 0)
    return "an op without a location";  // as in KIR that a program has written
  return Concat(location.file, ":", location.line, ":", location.column);
}

// Lists the stages that cannot continue, and what each of them waits for.
std::string WaitsText(const kdl_variant& variant, const kdl_trap& trap) {
  std::string text;
  for (const std::int32_t wait : trap.waits) {
    if (wait < 1 || wait > variant.location_count) continue;
    const kdl_location& location = variant.locations[wait - 1];
    text += Concat(text.empty() ? "" : "; ", PlaceText(location), ": ", location.text);
  }
  return text;
}

// Replaces {index} and {bound} with the trap's numbers. Each of them occurs at most once.
std::string MessageText(std::string text, const kdl_trap& trap) {
  const std::pair<std::string_view, std::int64_t> numbers[] = {{"{index}", trap.index},
                                                               {"{bound}", trap.bound}};
  for (const auto& [mark, number] : numbers) {
    const std::size_t at = text.find(mark);
    if (at != std::string::npos) text.replace(at, mark.size(), std::to_string(number));
  }
  return text;
}

std::string Expand(std::string_view text, const kdl_variant& variant, const kdl_trap& trap) {
  const kdl_location& location = variant.locations[trap.location];
  std::string out;
  while (!text.empty()) {
    const std::size_t open = text.find('{');
    out += text.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = text.find('}', open);
    const std::string_view name = text.substr(open + 1, close - open - 1);
    if (name == "index") out += Piece(trap.index);
    if (name == "bound") out += Piece(trap.bound);
    if (name == "dimension") out += Piece(location.dimension);
    if (name == "text")
      out += trap.code == KDL_TRAP_STUCK ? WaitsText(variant, trap) : location.text;
    if (name == "message") out += MessageText(location.text, trap);
    text.remove_prefix(close + 1);
  }
  return out;
}

// Returns a note for each call through which the location's code was inlined, from the inside to the outside.
std::string CallNotes(const kdl_variant& variant, const kdl_location& location) {
  std::string notes;
  std::int32_t caller = location.caller;
  // The calls of a damaged image may form a circle.
  for (std::int32_t i = 0; i < variant.location_count; ++i) {
    if (caller < 1 || caller > variant.location_count) break;
    const kdl_location& call = variant.locations[caller - 1];
    notes += Concat("\n", PlaceText(call), ": note: called here");
    caller = call.caller;
  }
  return notes;
}

template <class Number>
Number Load(const char* at) {
  Number number;
  std::memcpy(&number, at, sizeof number);
  return number;
}

// Returns the shortest decimal text that reads back as the same number.
template <class Number>
std::string Shortest(Number number) {
  if (number != number) return "nan";  // regardless of its sign
  char text[64];
  const auto result = std::to_chars(text, text + sizeof text, number);
  return std::string(text, result.ptr);
}

// Limits on printed tensors, the same as those of `kernelc run`. A tensor of at most kMostShown elements is
// printed in full. Of a larger tensor, only the first kFirstShown elements of a row are printed.
constexpr std::int64_t kMostShown = 64;
constexpr std::int64_t kFirstShown = 8;

std::string FormatElement(const char* at, std::uint8_t element) {
  switch (element) {
    case KDL_BOOL:
      return *at != 0 ? "true" : "false";
    case KDL_I8:
      return Shortest(int{Load<std::int8_t>(at)});
    case KDL_I16:
      return Shortest(Load<std::int16_t>(at));
    case KDL_I32:
      return Shortest(Load<std::int32_t>(at));
    case KDL_I64:
      return Shortest(Load<std::int64_t>(at));
    case KDL_U8:
      return Shortest(unsigned{Load<std::uint8_t>(at)});
    case KDL_U16:
      return Shortest(Load<std::uint16_t>(at));
    case KDL_U32:
      return Shortest(Load<std::uint32_t>(at));
    case KDL_U64:
      return Shortest(Load<std::uint64_t>(at));
#define KDL_NARROW_FLOAT(Name, ID, spelling, code, bits, ctype, ...) \
  case code:                                                         \
    return Shortest(kdl_f32_of_##spelling(Load<ctype>(at)));
#include "kdl/scalars.def"
    case KDL_F32:
      return Shortest(Load<float>(at));
    case KDL_F64:
      return Shortest(Load<double>(at));
    default:
      return "?";
  }
}

void FormatValue(const kdl_tensor& value, std::int32_t dimension, const char* at,
                 std::string* out) {
  if (dimension == value.rank) {
    *out += FormatElement(at, value.element);
    return;
  }
  *out += '[';
  for (std::int64_t i = 0; i < value.size[dimension]; ++i) {
    if (i > 0) *out += ", ";
    FormatValue(value, dimension + 1, at + i * value.stride[dimension] * ElementBytes(value), out);
  }
  *out += ']';
}

const char* ElementAt(const kdl_tensor& value, std::int64_t number) {
  std::int64_t offset = 0;
  for (std::int32_t d = value.rank; d-- > 0;) {
    offset += number % value.size[d] * value.stride[d];
    number /= value.size[d];
  }
  return static_cast<const char*>(value.data) + offset * ElementBytes(value);
}

void FormatShort(const kdl_tensor& value, std::string* out) {
  std::int64_t count = 1;
  for (std::int32_t d = 0; d < value.rank; ++d) count *= value.size[d];
  if (count <= kMostShown) {
    FormatValue(value, 0, static_cast<const char*>(value.data), out);
    return;
  }
  *out += '[';
  for (std::int64_t i = 0; i < kFirstShown; ++i) {
    *out += FormatElement(ElementAt(value, i), value.element) + ", ";
  }
  *out += "…]";
}

}  // namespace

std::string TrapMessage(const kdl_kernel& kernel, const kdl_variant& variant,
                        const kdl_trap& trap) {
  const std::string_view text = TrapText(trap.code);
  if (trap.location < 0 || trap.location >= variant.location_count || text.empty()) {
    return Concat("kernel '", kernel.name, "' stopped with trap code ", trap.code,
                  " at the unknown location ", trap.location, " (", trap.index, ", ", trap.bound,
                  ")");
  }
  const kdl_location& location = variant.locations[trap.location];
  return Concat(PlaceText(location), ": error: ", Expand(text, variant, trap),
                CallNotes(variant, location));
}

LaunchHost::LaunchHost(PrintSink& sink)
    : sink_(sink),
      host_{.size = sizeof(kdl_host), .version = KDL_ABI_VERSION, .print = Print, .context = this} {
}

void LaunchHost::Print(kdl_core* core, std::int32_t location, std::int32_t count,
                       const kdl_tensor* values) {
  auto* self = static_cast<LaunchHost*>(core->launch->host->context);
  int error = 0;
  if (location < 0 || location >= self->variant_->location_count) return;
  self->has_printed_.store(true, std::memory_order_relaxed);
  try {
    error = self->sink_.Write(FormatPrint(self->variant_->locations[location].text, values, count) +
                              "\n");
  } catch (const std::bad_alloc&) {  // exceptions must not pass through a kernel
    error = ENOMEM;
  }
  int none = 0;
  if (error != 0) self->print_error_.compare_exchange_strong(none, error);
}

Error LaunchHost::PassPrints(Error error) {
  if (has_printed()) sink_.Deliver();
  const int lost = print_error_;
  if (error != nullptr || lost == 0) return error;
  if (lost == ENOMEM) return OutOfMemory();
  // Concat may throw, but devices call this function in their completions, which must not.
  char message[200];
  std::snprintf(message, sizeof message,
                "a kernel prints to standard output, but writing to it failed: %s",
                std::strerror(lost));
  return Error(kdl_error_create(KDL_ERROR_DEVICE, message));
}

std::string FormatPrint(std::string_view format, const kdl_tensor* values, std::int32_t count) {
  std::string out;
  std::int32_t next = 0;
  for (std::size_t at = 0; at < format.size(); ++at) {
    const std::string_view two = format.substr(at, 2);
    if (two == "{}" && next < count) {
      FormatShort(values[next], &out);
      ++next;
    } else {
      out += two == "{}" ? two : two.substr(0, 1);
    }
    if (two == "{}" || two == "{{" || two == "}}") ++at;
  }
  return out;
}

}  // namespace kdl::runtime

kdl_error* kdl_error_from_trap(const kdl_kernel* kernel, const kdl_variant* variant,
                               const kdl_trap* trap) {
  if (kernel == nullptr || variant == nullptr || trap == nullptr)
    return kdl::runtime::Fail(KDL_ERROR_INVALID_ARGUMENT,
                              "kdl_error_from_trap: kernel, variant or trap is NULL")
        .release();
  return kdl::runtime::Fail(KDL_ERROR_TRAP, kdl::runtime::TrapMessage(*kernel, *variant, *trap))
      .release();
}
