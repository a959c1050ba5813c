/* Tensors as callers see them, in C11: codes of element types, and views of memory. The structs come from
 * tensor.def, which describes every field. */
#pragma once

#include <stdint.h>

/* The codes of the element types: KDL_F32 and so on. */
enum kdl_element {
#define KDL_SCALAR(Name, ID, spelling, code, bits, Group, ctype, comment) KDL_##ID = code,
#include "kdl/scalars.def"
};

enum kdl_tensor_code {
#define KDL_CODE(ID, value, comment) KDL_##ID = value,
#include "kdl/tensor.def"
};

/* clang-format off */
#define KDL_STRUCT(name, comment) typedef struct name {
#define KDL_FIELD(owner, ctype, kind, name, comment) ctype name;
#define KDL_ARRAY(owner, ctype, kind, count, name, comment) ctype name[count];
#define KDL_STRUCT_END(name) } name;
/* clang-format on */
#include "kdl/tensor.def"
