#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/compile/session.h"
#include "driver/schedules/schedules.h"

namespace kdl::tools {

/// The file of schedules that `kernelc tune` writes. Several processes may write the same file.
class ScheduleWriter {
 public:
  ScheduleWriter(std::string path, driver::Session& session)
      : path_(std::move(path)), session_(session) {}

  const std::string& path() const { return path_; }
  /// Whether the file does not exist or has schedules. Reports an error if not.
  bool IsReadable() { return ReadAll().has_value(); }
  /// Writes the schedule in place of the one with the same key. Removes schedules that were measured before the kernel
  /// has changed. Reports errors.
  bool Write(const driver::Schedule& schedule);

 private:
  std::optional<std::vector<driver::Schedule>> ReadAll();

  std::string path_;
  driver::Session& session_;
};

}  // namespace kdl::tools
