#include "tools/loading/plugin_images.h"

#include "driver/run/executor.h"
#include "driver/run/run_program.h"
#include "kdl/device_plugin.h"

namespace kdl::tools {

Result<std::string> PluginImageKind(const std::string& path) {
  kdl_context* made = nullptr;
  Status status = driver::StatusOf(kdl_context_create(&made));
  if (!status.ok()) return status.failure();
  driver::Context context(made);
  const char* kind = nullptr;
  status = driver::StatusOf(kdl_context_plugin_image_kind(context.get(), path.c_str(), &kind));
  if (!status.ok()) return status.failure();
  return std::string(kind);
}

}  // namespace kdl::tools
