#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "driver/run/host_tensor.h"
#include "support/diagnostics.h"

namespace kdl::driver {

// .npy files as numpy.save writes them: versions 1 to 3, little endian, C order. The element types
// are those of NumPy's dtypes (f16 is <f2); bf16, which NumPy lacks, is <V2, as numpy.save writes
// arrays of ml_dtypes.bfloat16: with NumPy alone, the upper halves of float32 as `numpy.uint16`,
// then `.view('V2')`. Floats of a byte are stored by their bits: as u8.

/// The array in `bytes`; `path` is for messages. Everything that is not right about the file is
/// reported.
std::optional<HostTensor> ParseNpy(std::string_view bytes, const std::string& path,
                                   DiagnosticEngine& diagnostics);

/// Reads the file and parses it.
std::optional<HostTensor> ReadNpy(const std::string& path, DiagnosticEngine& diagnostics);

/// The file's bytes, the same as numpy.save's.
std::string FormatNpy(const HostTensor& tensor);

/// As whose element type a file says what a tensor of this scalar holds.
inline Scalar StoredAs(Scalar scalar) { return IsByteFloat(scalar) ? Scalar::U8 : scalar; }

/// `float32`: what NumPy calls the scalar; `V2` for bf16, `uint8` for floats of a byte.
std::string_view NumpyName(Scalar scalar);

/// `(128, 64)`, `(3,)`, `()`: a shape as NumPy writes it.
std::string ShapeText(std::span<const int64_t> shape);

}  // namespace kdl::driver
