#include "tools/tuning/schedule_writer.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <system_error>

#include "driver/files.h"
#include "support/folder_lock.h"

namespace kdl::tools {

using driver::Schedule;

std::optional<std::vector<Schedule>> ScheduleWriter::ReadAll() {
  // An error is reported later, when the file is read.
  std::error_code ignored;
  if (std::filesystem::status(path_, ignored).type() == std::filesystem::file_type::not_found)
    return std::vector<Schedule>();
  auto text = driver::ReadRewrittenFile(path_, driver::kMostScheduleBytes, session_.diagnostics);
  if (!text) return std::nullopt;
  return driver::ReadSchedules(path_, *text, session_.sources, session_.diagnostics);
}

bool ScheduleWriter::Write(const Schedule& schedule) {
  FolderLock lock(path_);  // two processes may tune at the same time
  auto all = ReadAll();
  if (!all) return false;
  auto is_replaced = [&](const Schedule& one) {
    bool is_stale = one.kernel == schedule.kernel && one.source != schedule.source;
    return is_stale || one.SameKey(schedule);
  };
  auto first = std::ranges::find_if(*all, is_replaced);
  auto at = std::distance(all->begin(), first);
  std::erase_if(*all, is_replaced);
  all->insert(all->begin() + at, schedule);
  return driver::WriteOutputFiles({{path_, driver::SchedulesText(*all)}}, session_.diagnostics);
}

}  // namespace kdl::tools
