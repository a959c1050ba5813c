// The suite's kernels as a shared object, for kdl_context_load.
#include "conformance/kernels.h"

namespace kdl::conformance {

extern "C" const kdl_image* const kdl_module_images[];
extern "C" const kdl_image* const kdl_module_images[] = {kImages[0], nullptr};

}  // namespace kdl::conformance
