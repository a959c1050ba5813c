#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "driver/run/host_tensor.h"
#include "support/diagnostics.h"

namespace kdl::driver {

// .npy files as numpy.save writes them: versions 1 to 3, little endian, C order. The element types
// are NumPy's dtypes (f16 is <f2). NumPy has no bf16, so bf16 is stored as <V2, as numpy.save does
// for arrays of ml_dtypes.bfloat16. To create such an array without ml_dtypes, store the upper
// halves of float32 as `numpy.uint16` and convert them with `.view('V2')`. One-byte floats are
// stored as their bits, with the type u8.

/// Parses the array in `bytes`. `path` is used only in messages. Reports all errors in the file.
std::optional<HostTensor> ParseNpy(std::string_view bytes, const std::string& path,
                                   DiagnosticEngine& diagnostics);

/// The header of a file: the type and shape of its array, and the number of the byte at which the elements begin.
struct NpyHeader {
  Scalar scalar = Scalar::F32;
  std::vector<int64_t> shape;
  int64_t offset = 0;
};

/// Reads only the header of a file, and checks that all elements are there. The file becomes an input of the command.
std::optional<NpyHeader> ReadNpyHeader(const std::string& path, DiagnosticEngine& diagnostics);

/// Reads and parses a file.
std::optional<HostTensor> ReadNpy(const std::string& path, DiagnosticEngine& diagnostics);

/// Returns the contents of a .npy file, byte for byte as numpy.save writes it.
std::string FormatNpy(const HostTensor& tensor);

/// Returns what precedes the elements in such a file.
std::string FormatNpyHeader(Scalar scalar, std::span<const int64_t> shape);

/// Makes all bytes of bools 0 or 1. NumPy's bool arrays can be views of other types, in which any nonzero byte is true.
void NormalizeBools(std::span<std::byte> bytes);

/// Returns the element type under which a file stores this scalar.
inline Scalar StoredAs(Scalar scalar) { return IsByteFloat(scalar) ? Scalar::U8 : scalar; }

/// Returns NumPy's name for the scalar, such as `float32`. It is `V2` for bf16 and `uint8` for
/// one-byte floats.
std::string_view NumpyName(Scalar scalar);

/// Returns a shape as NumPy writes it: `(128, 64)`, `(3,)`, `()`.
std::string ShapeText(std::span<const int64_t> shape);

}  // namespace kdl::driver
