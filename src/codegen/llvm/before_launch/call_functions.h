#pragma once

#include <string>

#include "codegen/common/call_table.h"
#include "codegen/llvm/backend.h"

namespace kdl::codegen {

/// Compiles an object that defines the functions of NAME.h that take pointers, as NAME.c does, for hosts without
/// a C compiler. The functions use the runtime's C interface (kdl/call.h).
std::string CompileCalls(const Backend& host, const CallTable& table);

}  // namespace kdl::codegen
