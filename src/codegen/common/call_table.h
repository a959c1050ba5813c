#pragma once

#include <string>
#include <vector>

#include "support/scalar.h"
#include "support/size.h"

namespace kdl::codegen {

/// A parameter of a kernel: a tensor, which is passed as a pointer, or a scalar.
struct CallParam {
  bool is_tensor = false;
  bool is_absent = false;  ///< an optional tensor for which nothing is passed
  Scalar scalar = Scalar::F32;
  std::vector<Size> dims;
};

/// A kernel as functions of NAME.h. Fields that are names of functions are what a linker sees.
struct CallEntry {
  std::string call;
  std::string async;
  std::string bind;
  std::string run;
  std::string unbind;
  std::string looked_up;           ///< the kernel's name in the runtime
  std::vector<std::string> sizes;  ///< names of the sizes that the caller passes first
  std::vector<CallParam> params;
};

/// The functions of NAME.h that take pointers, for a generator that needs no text.
struct CallTable {
  std::string library;  ///< a C identifier for the module
  std::string images;   ///< symbol of the compiled images
  std::string open;
  std::string close;
  std::vector<CallEntry> entries;
};

}  // namespace kdl::codegen
