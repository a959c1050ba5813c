#include "extension/dlpack_exchange.h"

#include <vector>

namespace kdl::python {

namespace {

struct KnownExchange {
  PyObject* type;  ///< owned, so that no other object gets its address
  const ExchangeApi* api;
};

/// The interpreter's lock protects it.
std::vector<KnownExchange> known_exchanges;
constexpr size_t kMostKnown = 64;

KnownExchange QueryExchangeApi(PyObject* type) {
  KnownExchange known = {type, nullptr};
  // The interface does not tell which arrays are read-only, so it is only used for PyTorch's, of which none is.
  if (PyObject_HasAttrString(type, "requires_grad") == 0) return known;
  Ref capsule(PyObject_GetAttrString(type, "__dlpack_c_exchange_api__"));
  constexpr const char* kName = "dlpack_exchange_api";
  if (capsule && PyCapsule_IsValid(capsule.get(), kName) != 0)
    known.api = static_cast<const ExchangeApi*>(PyCapsule_GetPointer(capsule.get(), kName));
  PyErr_Clear();
  constexpr uint32_t kMajor = 1;
  while (known.api != nullptr && known.api->major != kMajor) known.api = known.api->previous;
  if (known.api != nullptr && known.api->tensor_from_object == nullptr) known.api = nullptr;
  return known;
}

KnownExchange FindKnownExchange(PyObject* type) {
  for (const KnownExchange& known : known_exchanges) {
    if (known.type == type) return known;
  }
  const KnownExchange known = QueryExchangeApi(type);
  if (known_exchanges.size() < kMostKnown) {
    Py_INCREF(type);
    known_exchanges.push_back(known);
  }
  return known;
}

/// Whether an attribute of the object, or the result of a method without arguments, is true.
bool IsTrue(PyObject* object, const char* name, bool is_method) {
  Ref value(is_method ? PyObject_CallMethod(object, name, nullptr)
                      : PyObject_GetAttrString(object, name));
  const bool is_true = value && PyObject_IsTrue(value.get()) == 1;
  PyErr_Clear();
  return is_true;
}

}  // namespace

const ExchangeApi* FindExchange(PyObject* object) {
  const KnownExchange known = FindKnownExchange(reinterpret_cast<PyObject*>(Py_TYPE(object)));
  return known.api == nullptr || IsTrue(object, "requires_grad", false) ? nullptr : known.api;
}

bool IsNegated(PyObject* object) { return IsTrue(object, "is_neg", true); }

}  // namespace kdl::python
