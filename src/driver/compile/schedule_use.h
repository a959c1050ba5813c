#pragma once

#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "driver/compile/session.h"
#include "driver/schedules/schedules.h"
#include "passes/pass_settings.h"
#include "targets/family.h"

namespace kdl::driver {

/// The schedules of a compilation, and the result of looking up kernels in them.
struct ScheduleFile {
  std::string path;  ///< empty if the schedules do not come from a file
  std::vector<Schedule> schedules;
  std::string unknown{};  ///< the first kernel that was not found, such as `'matmul.f32' on opencl`
  bool knew_one = false;

  /// Returns the line of a place, such as `matmul.tuned.yaml:7`.
  std::string LineOf(const SchedulePlace& place) const;
};

/// Reads the file of --tuned into the session, if there is one. The module must be as the front end has translated it.
/// Reports an error and returns false if the file cannot be read, or if a kernel has changed since it was measured.
bool ReadScheduleFile(Session& session, const ir::Module& module);

/// Returns the schedule of a kernel on a level of a target, or null if there is none. If there are several, returns the
/// one with the most sizes in the same class as those of --set. Among equal ones, returns the first.
const Schedule* FindSchedule(const Session& session, std::string_view kernel,
                             const std::string& level);

/// Returns a tile selector that uses the session's schedules for the target.
std::shared_ptr<const passes::TileSelector> ScheduledSelector(Session& session,
                                                              const targets::Target& target);

/// Sets the options of passes for those of the kernels that have a schedule. Reports an error and returns false if a pass, an option
/// or a value does not exist.
bool ApplySchedules(Session& session, const targets::Target& target, const std::set<Name>& kernels,
                    passes::PassSettings& settings);

/// Warns if the file contains none of the kernels of the compilation.
void ReportUnknown(Session& session);

}  // namespace kdl::driver
