// Writes and reads checkpoints. All processes of the transport must call these functions; without a transport, there is one
// process. If one of them fails, all return a failure.
#pragma once

#include <string>

#include "checkpoints/saved.h"
#include "core/error.h"
#include "kdl/ranks.h"
#include "system/shared_file.h"

namespace kdl::runtime {

// Fails if the file cannot be written: if its folder is missing, or another file has the name.
Error CheckReplaceable(const std::string& path, const kdl_transport* transport);

// Writes a checkpoint. The file is replaced when the new one is complete and on the disk; after a failure, the old one stays.
Error WriteCheckpoint(const Saved& saved, const kdl_transport* transport,
                      TemporaryObserver observer);

// Replaces the numbers and the elements of the tensors by those in the file, which must have the same code, types and sizes.
// Stores whether there is a file; without one, does nothing else.
Error ReadCheckpoint(Saved& saved, const kdl_transport* transport, bool* is_found);

// Returns the error that errno describes: an action, such as "read", is impossible for this path.
Error FileError(const char* action, const std::string& path);

}  // namespace kdl::runtime
