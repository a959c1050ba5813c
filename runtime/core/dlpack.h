// The structs of DLPack's binary interface, https://dmlc.github.io/dlpack, in which array libraries exchange
// tensors.
#pragma once

#include <cstdint>
#include <optional>

#include "core/error.h"

namespace kdl::runtime::dlpack {

constexpr int32_t kCpu = 1;
constexpr int32_t kCuda = 2;
constexpr int32_t kCudaHost = 3;
constexpr int32_t kCudaManaged = 13;

constexpr uint64_t kReadOnly = 1;

enum class TypeCode : uint8_t {
  Int = 0,
  Uint = 1,
  Float = 2,
  Bfloat = 4,
  Bool = 6,
  Float8E4M3FN = 10,
  Float8E5M2 = 12,
  Float8E8M0FNU = 14
};

struct Device {
  int32_t kind;
  int32_t number;
};

struct Type {
  TypeCode code;
  uint8_t bits;
  uint16_t lanes;
};

struct Tensor {
  void* data;
  Device device;
  int32_t rank;
  Type type;
  int64_t* shape;
  int64_t* strides;  // in elements; null for row-major order
  uint64_t byte_offset;
};

// The content of a capsule named `dltensor`.
struct Managed {
  Tensor tensor;
  void* context;
  void (*deleter)(Managed*);
};

// The content of a capsule named `dltensor_versioned`.
struct VersionedManaged {
  uint32_t major;
  uint32_t minor;
  void* context;
  void (*deleter)(VersionedManaged*);
  uint64_t flags;
  Tensor tensor;
};

// Returns the element type (KDL_F32, …) of a tensor's elements, if kernels have it.
std::optional<std::uint8_t> ElementOf(Type type);

// Returns the type of tensors with these elements.
Type TypeOf(std::uint8_t element);

// Stores a view of the tensor's memory, which must be in the host's memory. An error begins with the name.
Error ViewOf(const Tensor& tensor, std::string_view name, kdl_tensor* view);
// Does so for any memory.
Error ViewAnywhere(const Tensor& tensor, std::string_view name, kdl_tensor* view);

}  // namespace kdl::runtime::dlpack
