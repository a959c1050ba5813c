#include "driver/run/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "driver/diagnostics.h"
#include "driver/files.h"
#include "support/machine.h"

namespace kdl::driver {

namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr size_t kAlignment = 64;
constexpr size_t kMostBytes = size_t{1} << 38;
constexpr size_t kMostHeader = size_t{1} << 16;  ///< numpy.save writes shorter headers

struct Dtype {
  Scalar scalar;
  std::string_view descr;  ///< NumPy's type descriptor without the byte order
  std::string_view numpy;
};
constexpr Dtype kDtypes[] = {
    {Scalar::Bool, "b1", "bool"},   {Scalar::I8, "i1", "int8"},    {Scalar::I16, "i2", "int16"},
    {Scalar::I32, "i4", "int32"},   {Scalar::I64, "i8", "int64"},  {Scalar::U8, "u1", "uint8"},
    {Scalar::U16, "u2", "uint16"},  {Scalar::U32, "u4", "uint32"}, {Scalar::U64, "u8", "uint64"},
    {Scalar::F16, "f2", "float16"}, {Scalar::BF16, "V2", "V2"},    {Scalar::F32, "f4", "float32"},
    {Scalar::F64, "f8", "float64"},
};

const Dtype& DtypeRow(Scalar scalar) {
  for (const Dtype& row : kDtypes) {
    if (row.scalar == StoredAs(scalar)) return row;
  }
  return kDtypes[0];
}

struct Header {
  std::string descr;
  bool is_plain = true;  ///< whether the dtype is a single word rather than a record
  bool fortran = false;
  std::vector<int64_t> shape;
};

/// Parses the header, a Python dict with three entries.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : rest_(text) {}

  std::optional<Header> Read() {
    Header header;
    bool seen[3] = {};
    if (!Take('{')) return std::nullopt;
    while (!Take('}')) {
      std::optional<std::string> key = Word();
      if (!key || !Take(':')) return std::nullopt;
      int which = *key == "descr" ? 0 : *key == "fortran_order" ? 1 : *key == "shape" ? 2 : -1;
      if (which < 0 || seen[which]) return std::nullopt;
      bool read = which == 0   ? Descr(header)
                  : which == 1 ? Flag(header.fortran)
                               : Shape(header.shape);
      if (!read) return std::nullopt;
      seen[which] = true;
      if (!Take(',') && !Next('}')) return std::nullopt;
    }
    bool complete = seen[0] && seen[1] && seen[2];
    Space();
    return complete && rest_.empty() ? std::optional(std::move(header)) : std::nullopt;
  }

 private:
  void Space() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n')) rest_.remove_prefix(1);
  }
  bool Next(char c) {
    Space();
    return !rest_.empty() && rest_[0] == c;
  }
  bool Take(char c) {
    if (!Next(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::optional<std::string> Word() {
    char quote = Next('"') ? '"' : '\'';
    if (!Take(quote)) return std::nullopt;
    size_t end = rest_.find(quote);
    if (end == std::string_view::npos) return std::nullopt;
    std::string word(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return word;
  }
  /// Reads a dtype: a word or a record. A record is kept as text up to its closing bracket.
  bool Descr(Header& header) {
    if (!Next('[')) {
      std::optional<std::string> word = Word();
      if (word) header.descr = *word;
      return word.has_value();
    }
    int depth = 0;
    for (size_t i = 0; i < rest_.size(); ++i) {
      depth += rest_[i] == '[' ? 1 : rest_[i] == ']' ? -1 : 0;
      if (depth != 0) continue;
      header.descr = rest_.substr(0, i + 1);
      header.is_plain = false;
      rest_.remove_prefix(i + 1);
      return true;
    }
    return false;
  }
  bool Flag(bool& value) {
    Space();
    for (std::string_view word : {"True", "False"}) {
      if (!rest_.starts_with(word)) continue;
      rest_.remove_prefix(word.size());
      value = word == "True";
      return true;
    }
    return false;
  }
  bool Shape(std::vector<int64_t>& shape) {
    if (!Take('(')) return false;
    while (!Take(')')) {
      Space();
      int64_t size = 0;
      auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), size);
      if (error != std::errc() || size < 0) return false;
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      if (!rest_.empty() && rest_[0] == 'L') rest_.remove_prefix(1);
      shape.push_back(size);
      if (!Take(',') && !Next(')')) return false;
    }
    return true;
  }

  std::string_view rest_;
};

/// The two parts of a file: the text of the header and the data after it. Split returns nothing and
/// sets `reason` if the file does not begin like a .npy file.
struct Parts {
  std::string_view header;
  std::string_view data;
};
std::optional<Parts> Split(std::string_view bytes, std::string& reason) {
  if (!bytes.starts_with(kMagic)) {
    reason = bytes.empty() ? "it is empty" : "it does not start with \\x93NUMPY";
    return std::nullopt;
  }
  size_t major =
      bytes.size() > kMagic.size() ? static_cast<unsigned char>(bytes[kMagic.size()]) : 0;
  size_t count = major == 1 ? 2 : 4;
  size_t start = kMagic.size() + 2 + count;
  if (bytes.size() >= start && (major < 1 || major > 3)) {
    reason = fmt::format("its format version is {}; versions 1 to 3 are supported", major);
    return std::nullopt;
  }
  size_t length = 0;
  if (bytes.size() >= start) std::memcpy(&length, bytes.data() + kMagic.size() + 2, count);
  if (bytes.size() < start || bytes.size() - start < length) {
    reason = "it ends within its header";
    return std::nullopt;
  }
  return Parts{bytes.substr(start, length), bytes.substr(start + length)};
}

std::optional<Scalar> HeaderScalar(const Header& header, const std::string& path,
                                   DiagnosticEngine& diagnostics) {
  std::string_view order = header.descr;
  for (const Dtype& row : kDtypes) {
    if (!header.is_plain || order.empty() || order.substr(1) != row.descr) continue;
    bool native =
        order[0] == '<' || order[0] == '|' || order[0] == '=' || Info(row.scalar).bits == 8;
    if (native) return row.scalar;
    diagnostics.Report(diag::NpyByteOrder, {}, path, header.descr)
        .Help(fmt::format("numpy.save('{}', x.astype('<{}'))", path, row.descr));
    return std::nullopt;
  }
  diagnostics.Report(diag::NpyNoScalar, {}, path, header.descr)
      .Help(fmt::format("numpy.save('{}', x.astype(numpy.float32)), or another element type of KDL",
                        path));
  return std::nullopt;
}

bool IsOneLine(std::span<const int64_t> shape) {
  int longer = 0;
  for (int64_t size : shape) {
    if (size == 0) return true;
    longer += size > 1 ? 1 : 0;
  }
  return longer <= 1;
}

}  // namespace

std::string_view NumpyName(Scalar scalar) { return DtypeRow(scalar).numpy; }

std::string ShapeText(std::span<const int64_t> shape) {
  return shape.size() == 1 ? fmt::format("({},)", shape[0])
                           : fmt::format("({})", fmt::join(shape, ", "));
}

namespace {

/// Parses the header at the beginning of a file with `file_bytes` bytes.
std::optional<NpyHeader> ParseHeader(std::string_view bytes, int64_t file_bytes,
                                     const std::string& path, DiagnosticEngine& diagnostics) {
  std::string reason;
  std::optional<Parts> parts = Split(bytes, reason);
  std::optional<Header> header = parts ? HeaderReader(parts->header).Read() : std::nullopt;
  if (!header) {
    diagnostics
        .Report(diag::NotNpy, {}, path,
                parts ? "its header is not one that numpy.save writes" : reason)
        .Help(fmt::format("write it with numpy.save('{}', x)", path));
    return std::nullopt;
  }
  std::optional<Scalar> scalar = HeaderScalar(*header, path, diagnostics);
  if (!scalar) return std::nullopt;
  if (header->fortran && !IsOneLine(header->shape)) {
    diagnostics.Report(diag::NpyFortran, {}, path)
        .Help(fmt::format("numpy.save('{}', numpy.ascontiguousarray(x))", path));
    return std::nullopt;
  }
  std::optional<int64_t> count = ElementCount(*scalar, header->shape);
  if (!count) {
    diagnostics.Report(diag::NpyOverflow, {}, path, ShapeText(header->shape));
    return std::nullopt;
  }
  int64_t needed = *count * Bytes(*scalar);
  int64_t offset = parts->data.data() - bytes.data();
  int64_t there = file_bytes - offset;
  if (there != needed) {
    const auto& kind = there < needed ? diag::NpyTruncated : diag::NpyTooLong;
    diagnostics.Report(kind, {}, path, TypeText(*scalar, header->shape), needed, there);
    return std::nullopt;
  }
  return NpyHeader{*scalar, std::move(header->shape), offset};
}

}  // namespace

void NormalizeBools(std::span<std::byte> bytes) {
  for (std::byte& byte : bytes) byte = std::byte{byte != std::byte{0}};
}

std::optional<HostTensor> ParseNpy(std::string_view bytes, const std::string& path,
                                   DiagnosticEngine& diagnostics) {
  std::optional<NpyHeader> header =
      ParseHeader(bytes, static_cast<int64_t>(bytes.size()), path, diagnostics);
  if (!header) return std::nullopt;
  bytes.remove_prefix(static_cast<size_t>(header->offset));
  HostTensor tensor{header->scalar, std::move(header->shape), std::vector<std::byte>(bytes.size())};
  if (!bytes.empty()) std::memcpy(tensor.bytes.data(), bytes.data(), bytes.size());
  if (tensor.scalar == Scalar::Bool) NormalizeBools(tensor.bytes);
  return tensor;
}

std::optional<NpyHeader> ReadNpyHeader(const std::string& path, DiagnosticEngine& diagnostics) {
  std::optional<InputStart> start = ReadInputStart(path, kMostHeader, diagnostics);
  return start ? ParseHeader(start->bytes, start->file_bytes, path, diagnostics) : std::nullopt;
}

std::optional<HostTensor> ReadNpy(const std::string& path, DiagnosticEngine& diagnostics) {
  // Limit the size to the memory of the machine, because reading a larger file would end the
  // process.
  auto memory = static_cast<size_t>(PhysicalMemoryBytes());
  std::optional<std::string> bytes = ReadInputFile(path, std::min(kMostBytes, memory), diagnostics);
  return bytes ? ParseNpy(*bytes, path, diagnostics) : std::nullopt;
}

std::string FormatNpyHeader(Scalar scalar, std::span<const int64_t> shape) {
  const Dtype& row = DtypeRow(scalar);
  bool one_byte = Info(scalar).bits == 8;
  std::string header = fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': {}, }}",
                                   one_byte ? '|' : '<', row.descr, ShapeText(shape));
  size_t prefix = kMagic.size() + 4;
  size_t padding = kAlignment - (prefix + header.size() + 1) % kAlignment;
  header.append(padding % kAlignment, ' ').push_back('\n');
  std::string bytes(kMagic);
  bytes.append({'\x01', '\x00', static_cast<char>(header.size() & 0xFF),
                static_cast<char>(header.size() >> 8)});
  return bytes + header;
}

std::string FormatNpy(const HostTensor& tensor) {
  std::string bytes = FormatNpyHeader(tensor.scalar, tensor.shape);
  bytes.append(reinterpret_cast<const char*>(tensor.bytes.data()), tensor.bytes.size());
  return bytes;
}

}  // namespace kdl::driver
