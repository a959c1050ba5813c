#include "checkpoints/layout.h"

#include <cstring>

#include "core/element.h"
#include "core/text.h"
#include "kdl/checkpoint_text.hpp"

namespace kdl::runtime {

namespace {

constexpr std::string_view kBegin = "kdl checkpoint 3 ";
constexpr std::string_view kCode = "{\"program\":";
constexpr std::string_view kBeforeTensors = "],\"tensors\":[";
constexpr std::size_t kHeaderAlignment = 64;

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') quoted += '\\';
    if (byte < 0x20) {
      quoted += "\\u00" + checkpoints::HexText(byte).substr(14);
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string BeforeNumbers(const Saved& saved) {
  return Concat(",\"file\":", Quoted(saved.file), ",\"numbers\":[");
}

std::string BeforeBits(const SavedNumber& number) {
  return Concat("{\"type\":", Quoted(ElementName(number.element)), ",\"bits\":");
}

std::string NumbersText(const Saved& saved) {
  std::string text;
  for (const SavedNumber& number : saved.numbers)
    text += Concat(text.empty() ? "" : ",", BeforeBits(number), number.bits, "}");
  return text;
}

std::string BeforeSizes(const SavedTensor& tensor) {
  return Concat("{\"name\":", Quoted(tensor.name),
                ",\"type\":", Quoted(ElementName(tensor.view.element)), ",\"sizes\":[");
}

std::string SizesText(const SavedTensor& tensor) {
  std::string sizes;
  for (std::int32_t d = 0; d < tensor.view.rank; ++d)
    sizes += Concat(d == 0 ? "" : ",", tensor.view.size[d]);
  return sizes;
}

// Removes `begin` from the beginning of `text`. Returns false if the text does not begin with it.
bool Skip(std::string_view& text, std::string_view begin) {
  if (!text.starts_with(begin)) return false;
  text.remove_prefix(begin.size());
  return true;
}

bool TakeBits(std::string_view& text, std::uint64_t* bits) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  *bits = 0;
  for (const char digit : text.substr(0, digits)) {
    if (__builtin_mul_overflow(*bits, 10, bits) ||
        __builtin_add_overflow(*bits, static_cast<unsigned>(digit - '0'), bits))
      return false;
  }
  text.remove_prefix(digits);
  return digits > 0;
}

// Stores the numbers, of which `text` contains as many as in the statement, and removes them. Returns false if there are others.
bool StoreNumbers(std::string_view& text, Saved& saved) {
  if (!Skip(text, BeforeNumbers(saved))) return false;
  for (SavedNumber& number : saved.numbers) {
    const bool is_first = &number == saved.numbers.data();
    const bool has_bits = Skip(text, is_first ? "" : ",") && Skip(text, BeforeBits(number)) &&
                          TakeBits(text, &number.bits) && Skip(text, "}");
    if (!has_bits) return false;
  }
  return Skip(text, kBeforeTensors);
}

// Returns how the sizes of a tensor differ from those in `text`, which contains the tensors, or "" if something else differs.
std::string OtherSizes(std::string_view text, const Saved& saved) {
  for (const SavedTensor& tensor : saved.tensors) {
    const bool is_first = &tensor == saved.tensors.data();
    if (!Skip(text, is_first ? "" : ",") || !Skip(text, BeforeSizes(tensor))) return "";
    const std::string_view sizes = text.substr(0, text.find(']'));
    text.remove_prefix(sizes.size());
    if (!Skip(text, "]}")) return "";
    const std::string own = SizesText(tensor);
    if (sizes != own)
      return Concat("has '", tensor.name, "' with sizes [", sizes, "], but the program has [", own,
                    "]");
  }
  return "";
}

}  // namespace

std::string HeaderOf(const Saved& saved) {
  std::string line = Concat(kBegin, kCode, Quoted(saved.code), BeforeNumbers(saved),
                            NumbersText(saved), kBeforeTensors);
  for (const SavedTensor& tensor : saved.tensors)
    line += Concat(&tensor == saved.tensors.data() ? "" : ",", BeforeSizes(tensor),
                   SizesText(tensor), "]}");
  line += "]}";
  line.resize((line.size() + kHeaderAlignment) / kHeaderAlignment * kHeaderAlignment - 1, ' ');
  return line + "\n";
}

std::string WhyUnusable(std::string_view header, Saved& saved) {
  std::string_view rest = header;
  if (!rest.starts_with(kCheckpointKind)) return "is not a checkpoint";
  if (!Skip(rest, kBegin)) return "was written by another version of kernelc";
  if (!Skip(rest, kCode)) return "is not a checkpoint of this loop";
  if (!Skip(rest, Quoted(saved.code)))
    return "was written by another program, or before the program was changed";
  if (!StoreNumbers(rest, saved)) return "is not a checkpoint of this loop";
  if (header == HeaderOf(saved)) return "";
  const std::string sizes = OtherSizes(rest, saved);
  return sizes.empty() ? "is not a checkpoint of this loop" : sizes;
}

std::int64_t EndOfElements(const Saved& saved, std::size_t header) {
  auto end = static_cast<std::int64_t>(header);
  for (const SavedTensor& tensor : saved.tensors) end += tensor.Bytes();
  return end;
}

std::uint64_t RowSum(std::int64_t place, const char* row, std::size_t bytes, std::size_t size) {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < bytes; at += size) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, row + at, size);
    sum += checkpoints::Mixed(checkpoints::Mixed(static_cast<std::uint64_t>(place) + at) ^ bits);
  }
  return sum;
}

std::string ChecksumLine(std::string_view header, std::uint64_t sum) {
  return checkpoints::HexText(sum + checkpoints::ChecksumOf(header)) + "\n";
}

}  // namespace kdl::runtime
