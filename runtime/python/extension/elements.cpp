#include "extension/elements.h"

#include <cstring>

#include "kdl/float_format.hpp"
#include "kdl/tensor.h"

namespace kdl::python {

namespace {

struct Element {
  uint8_t code;
  int bits;
  const char* name;
  enum class Kind { Bool, Signed, Unsigned, Float } kind;
  FloatFormat format;  ///< of narrow floats
};

constexpr Element kElements[] = {
#define KDL_SCALAR(Name, ID, spelling, code, bits, Group, ctype, comment) \
  {KDL_##ID, bits, #spelling, Element::Kind::Group, {}},
#define KDL_NARROW_FLOAT(Name, ID, spelling, code, bits, ctype, Cpp, exponent, fraction, \
                         infinities, nans, saturates, comment)                           \
  {KDL_##ID,                                                                             \
   bits,                                                                                 \
   #spelling,                                                                            \
   Element::Kind::Float,                                                                 \
   {exponent, fraction, infinities != 0, nans != 0, saturates != 0}},
#include "kdl/scalars.def"
};

const Element* FindElement(uint8_t code) {
  for (const Element& element : kElements) {
    if (element.code == code) return &element;
  }
  return nullptr;
}

/// Sets an exception for an integer that is out of range.
bool Refuse(PyObject* value, const Element& element, const char* name) {
  PyErr_Format(PyExc_OverflowError, "'%s' is %R, which %s cannot represent", name, value,
               element.name);
  return false;
}

bool ToInteger(PyObject* value, const Element& element, const char* name, uint64_t* bits) {
  Ref whole(PyNumber_Index(value));
  if (!whole) {
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "'%s' must be an integer (%s), not %R", name, element.name,
                 value);
    return false;
  }
  if (element.kind == Element::Kind::Unsigned) {
    uint64_t number = PyLong_AsUnsignedLongLong(whole.get());
    if (PyErr_Occurred() != nullptr) {
      PyErr_Clear();
      return Refuse(value, element, name);
    }
    if (element.bits < 64 && number >> element.bits != 0) return Refuse(value, element, name);
    *bits = number;
    return true;
  }
  int overflow = 0;
  int64_t number = PyLong_AsLongLongAndOverflow(whole.get(), &overflow);
  int64_t largest = static_cast<int64_t>(~uint64_t{0} >> (65 - element.bits));
  if (overflow != 0 || number > largest || number < -largest - 1)
    return Refuse(value, element, name);
  *bits = static_cast<uint64_t>(number);
  return true;
}

}  // namespace

std::optional<uint8_t> IntegerElement(bool is_signed, int64_t bytes) {
  auto kind = is_signed ? Element::Kind::Signed : Element::Kind::Unsigned;
  for (const Element& element : kElements) {
    if (element.kind == kind && element.bits == bytes * 8) return element.code;
  }
  return std::nullopt;
}

const char* ElementName(uint8_t element) {
  const Element* found = FindElement(element);
  return found == nullptr ? "?" : found->name;
}

bool ToScalar(PyObject* value, uint8_t code, const char* name, uint64_t* bits) {
  const Element& element = *FindElement(code);
  *bits = 0;
  if (element.kind == Element::Kind::Bool) {
    int truth = PyObject_IsTrue(value);
    *bits = truth > 0 ? 1 : 0;
    return truth >= 0;
  }
  if (element.kind != Element::Kind::Float) return ToInteger(value, element, name, bits);
  double number = PyFloat_AsDouble(value);
  if (number == -1.0 && PyErr_Occurred() != nullptr) {
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "'%s' must be a number (%s), not %R", name, element.name, value);
    return false;
  }
  if (element.bits == 64) {
    std::memcpy(bits, &number, sizeof number);
  } else if (element.bits == 32) {
    auto single = static_cast<float>(number);
    std::memcpy(bits, &single, sizeof single);
  } else {
    *bits = element.format.BitsOf(number);
  }
  return true;
}

}  // namespace kdl::python
