#pragma once

#include <cstdint>
#include <optional>

#include "extension/python.h"

namespace kdl::python {

/// Returns the element type of integers with this sign and size.
std::optional<uint8_t> IntegerElement(bool is_signed, int64_t bytes);

/// Returns the spelling of an element type in KDL, such as "f32".
const char* ElementName(uint8_t element);

/// Converts a Python number to a scalar of the given type, whose bits it stores in the low bytes of `bits`.
/// Floats are rounded once. On failure, sets a Python exception that mentions parameter `name`, and returns
/// false.
bool ToScalar(PyObject* value, uint8_t element, const char* name, uint64_t* bits);

}  // namespace kdl::python
