#pragma once

#include <string>
#include <vector>

#include "driver/run/checkpoint_tensors.h"
#include "interp/program_host.h"
#include "kdl/ranks.h"
#include "support/result.h"

namespace kdl::driver {

// A checkpoint file contains all elements of its tensors in row-major order, so that any number of processes can read it. It
// begins with a line of JSON: a checksum of the program, the file's name, the types and values of the numbers, and the names, types and sizes of
// the tensors. It ends with a line that contains a checksum, which is a sum over all elements, so that each process can compute
// its part of it. `program` identifies the program, see CheckpointPlan.
//
// All processes of the transport must call these functions; without a transport, there is one process. If one of them fails, all
// return a failure.

/// Returns the name that a program must use for the file: its path relative to the current folder.
std::string CheckpointName(const std::string& path);

/// Fails if the file cannot be written: if its folder is missing, or another file has the name.
Status CheckReplaceable(const std::string& path, const kdl_transport* transport);

/// Writes a checkpoint. The file is replaced when the new one is complete and on the disk; after a failure, the old one stays.
Status WriteCheckpoint(const interp::CheckpointRequest& request,
                       const std::vector<CheckpointTensor>& tensors, const std::string& program,
                       const kdl_transport* transport);

/// Reads a checkpoint of the same numbers and tensors, and replaces the values of the numbers. Does nothing if there is no file.
Status ReadCheckpoint(interp::CheckpointRequest& request,
                      const std::vector<CheckpointTensor>& tensors, const std::string& program,
                      const kdl_transport* transport);

}  // namespace kdl::driver
