#pragma once

namespace kdl::codegen {

/// While one exists, a lack of memory ends the process with a message and exit code 3. LLVM is compiled without
/// exceptions, so no std::bad_alloc may pass through its functions. May exist in several threads.
class EndWithoutMemory {
 public:
  EndWithoutMemory();
  EndWithoutMemory(const EndWithoutMemory&) = delete;
  EndWithoutMemory& operator=(const EndWithoutMemory&) = delete;
  ~EndWithoutMemory();
};

}  // namespace kdl::codegen
