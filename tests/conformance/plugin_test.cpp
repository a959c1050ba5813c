// Tests plugin devices, and structs with other sizes and versions.
#include <atomic>
#include <cstddef>
#include <thread>

#include "conformance/conformance.h"
#include "conformance/kernels.h"

namespace kdl::conformance {
namespace {

constexpr const char* kSpec = "plugin:" KDL_SAMPLE_DEVICE;

TEST_CASE("Plugin: errors name what cannot be loaded") {
  Context context;
  std::string message;
  const auto select = [&](const char* spec) {
    return CodeOf([&] { context.Select(spec); }, &message);
  };
  CHECK(select("plugin:/nowhere/device.so") == KDL_ERROR_NOT_FOUND);
  CHECK(message.find("cannot load a device from '/nowhere/device.so': cannot open") == 0);
  CHECK(select("plugin:" KDL_EMPTY_MODULE) == KDL_ERROR_NOT_FOUND);
  CHECK(message == "'" KDL_EMPTY_MODULE
                   "' contains no device: it does not define kdl_device_plugin");
  CHECK(select("plugin:") == KDL_ERROR_INVALID_ARGUMENT);
  CHECK(select("plugin:" KDL_SAMPLE_DEVICE "[4]") == KDL_ERROR_NOT_FOUND);
  CHECK(message == "there is no device 4: 4 match");
  CHECK(select("plugin:" KDL_SAMPLE_DEVICE "?colour=red") == KDL_ERROR_INVALID_ARGUMENT);
  CHECK(message == "the sample device has no option 'colour'; it has cores and fail");
  CHECK(context.Select("plugin:/nowhere/device.so,host").uri() == "host");
}

TEST_CASE("Plugin: the plugin's table says which images its devices accept") {
  const Context context;
  const char* kind = nullptr;
  Check(kdl_context_plugin_image_kind(context.get(), KDL_SAMPLE_DEVICE, &kind));
  CHECK(std::string(kind) == "host");
  std::string message;
  CHECK(
      CodeOf(
          [&] { Check(kdl_context_plugin_image_kind(context.get(), "/nowhere/device.so", &kind)); },
          &message) == KDL_ERROR_NOT_FOUND);
}

TEST_CASE("Plugin: operations reach the device before the operations they wait for have ended") {
  Context context;
  context.Register(kImages);
  const Device device = context.Select(kSpec);
  CHECK((device.facts().capabilities & KDL_CAN_ORDER) != 0);
  CHECK(device.facts().host_visible == 0);
  const Tensor x = context.Allocate(device, i64, {3}, "x");
  const Timeline gate = context.MakeTimeline();
  device.queue(0).Fill(x, std::int64_t{1}, {gate.At(1)});
  Event last;
  for (int i = 0; i < 100; ++i) {
    last = device.queue(i % 3).Launch("mark", 3, {x}, {last});
    if (i == 0) last = device.queue(0).Launch("mark", 3, {x}, {last});
  }
  gate.Signal(1);
  last.Wait();
  CHECK(Bench::Download<std::int64_t>(x) == std::vector<std::int64_t>(3, 1 + 3 * 101));
}

// Makes each operation of the device fail in turn. There must be exactly one error, and it must contain the
// cause. Nothing may hang, all memory must be released, and other devices must work.
TEST_CASE("Plugin: a failing device blocks nothing and does not affect other devices") {
  for (const char* site : {"allocate", "write", "read", "copy", "fill", "load", "launch"}) {
    CAPTURE(site);
    Context context;
    context.Register(kImages);
    const Device host = context.Select("host");
    const Device device = context.Select((std::string(kSpec) + "?fail=" + site).c_str());
    const std::string cause = std::string("the device failed in ") + site;
    std::string message;
    const auto work = [&] {
      const Tensor here = context.Allocate(host, i64, {3}, "here");
      host.queue().Fill(here, std::int64_t{1}).Wait();
      const Tensor x = context.Allocate(device, i64, {3}, "x");
      const Tensor y = context.Allocate(device, i64, {3}, "y");
      const Event written = device.queue().Copy(x, here, "in");
      const Event filled = device.queue(1).Fill(y, std::int64_t{2});
      const Event copied = device.queue(1).Copy(y, x, "within", {written});
      const Event marked = device.queue().Launch("mark", 3, {x}, {copied, filled});
      const Event read = host.queue().Copy(here, x, "out", {marked});
      read.Wait();
    };
    CHECK(CodeOf(work, &message) == KDL_ERROR_DEVICE);
    CHECK(message.find(cause) != std::string::npos);
    CHECK(message.find(cause) == message.rfind(cause));  // the cause occurs only once
    for (const Queue& queue : {device.queue(0), device.queue(1), host.queue()}) {
      kdl_error_free(kdl_queue_wait(queue.get()));
    }
    for (const Device& each : {device, host}) {
      CHECK(each.statistics().bytes_in_use == 0);
    }
    const Tensor there = context.Allocate(host, i64, {3}, "there");
    host.queue(1).Fill(there, std::int64_t{5}).Wait();
    host.queue(1).Launch("mark", 3, {there}).Wait();
    CHECK(Bench::Download<std::int64_t>(there) == std::vector<std::int64_t>(3, 8));
  }
}

TEST_CASE("Plugin: cancelling a launch also ends the operations that wait for it") {
  Context context;
  context.Register(kImages);
  const Device device = context.Select(kSpec);
  const Tensor x = context.Allocate(device, i64, {3}, "x");
  const Timeline gate = context.MakeTimeline();
  const Event first = device.queue().Launch("mark", 3, {x}, {gate.At(1)});
  const Event second = device.queue(1).Launch("mark", 3, {x}, {first});
  first.Cancel();
  CHECK(CodeOf([&] { second.Wait(); }) == KDL_ERROR_CANCELLED);
  CHECK(CodeOf([&] { first.Wait(); }) == KDL_ERROR_CANCELLED);
  device.queue().Launch("mark", 3, {x}).Wait();
}

// Provides only the facts that an older plugin knows; the runtime must fill in the other facts.
void FewFacts(void*, kdl_device_facts* facts) {
  facts->cores = 3;
  facts->image_kind = "host";
  facts->arch = "none";
}
kdl_error* Open(void*, std::int64_t, const kdl_option*, std::int32_t, void** device) {
  static int state = 0;
  *device = &state;
  return nullptr;
}
void Close(void*) {}
void Launch(void*, const kdl_launch_request*, kdl_completion done) {
  done.call(done.context, nullptr);
}

TEST_CASE("Plugin: tables of older and newer versions") {
  kdl_device_ops ops = {};
  ops.size = offsetof(kdl_device_ops, submit);  // an older plugin
  ops.version = 2;
  ops.kind = "older";
  ops.open = Open;
  ops.close = Close;
  ops.facts = FewFacts;
  ops.launch = Launch;
  ops.submit = [](void*, const kdl_submission*) { FAIL("lies beyond the table"); };
  Context context;
  Check(kdl_context_add_device_kind(context.get(), &ops, nullptr));
  const Device device = context.Select("older");
  CHECK(device.cores() == 3);
  CHECK(device.facts().capabilities == 0);
  const Tensor x = context.Allocate(device, f32, {3}, "x");
  device.queue().Fill(x, 1.0f).Wait();

  kdl_device_facts facts = {};
  kdl_error* error = kdl_device_get_facts(device.get(), &facts);
  CHECK(std::string(kdl_error_message(error)) ==
        "kdl_device_get_facts: facts->size is 0; set it to sizeof(kdl_device_facts)");
  kdl_error_free(error);
  facts.capabilities = 77;
  facts.size = offsetof(kdl_device_facts, capabilities);  // an older caller
  Check(kdl_device_get_facts(device.get(), &facts));
  CHECK(facts.cores == 3);
  CHECK(facts.capabilities == 77);

  std::string message;
  ops.kind = "newer";
  ops.version = KDL_PLUGIN_VERSION + 1;
  CHECK(CodeOf([&] { Check(kdl_context_add_device_kind(context.get(), &ops, nullptr)); },
               &message) == KDL_ERROR_INVALID_ARGUMENT);
  CHECK(message ==
        "device kind 'newer' was made for plugin version 3, but this runtime accepts none above 2");

  ops.version = KDL_PLUGIN_VERSION;
  ops.kind = "partial";
  ops.facts = nullptr;
  Check(kdl_context_add_device_kind(context.get(), &ops, nullptr));
  CHECK(CodeOf([&] { context.Select("partial"); }, &message) == KDL_ERROR_INVALID_ARGUMENT);
  CHECK(message == "device kind 'partial' must have open, close, facts, and launch or submit");
  kdl_memory_ops memory = {};
  memory.size = sizeof memory;
  memory.version = KDL_PLUGIN_VERSION;
  ops.memory = &memory;
  ops.kind = "forgetful";
  CHECK(CodeOf([&] { Check(kdl_context_add_device_kind(context.get(), &ops, nullptr)); },
               &message) == KDL_ERROR_INVALID_ARGUMENT);
  CHECK(message ==
        "the memory table of device kind 'forgetful' must have allocate, release, write, read, "
        "copy and fill");
  ops.memory = nullptr;
  ops.kind = "coreless";
  ops.facts = [](void*, kdl_device_facts* few) { few->resident = -1; };
  Check(kdl_context_add_device_kind(context.get(), &ops, nullptr));
  CHECK(CodeOf([&] { context.Select("coreless"); }, &message) == KDL_ERROR_DEVICE);
  CHECK(message ==
        "coreless reports 0 cores, -1 of them at once in a launch; they must be at least 1 and at "
        "least 0");
  ops.kind = nullptr;
  CHECK(CodeOf([&] { Check(kdl_context_add_device_kind(context.get(), &ops, nullptr)); },
               &message) == KDL_ERROR_INVALID_ARGUMENT);
  CHECK(message == "a device kind has no name: `kind` of its table is NULL");
  ops.kind = "small";
  ops.version = 2;
  ops.size = 8;
  CHECK(CodeOf([&] { Check(kdl_context_add_device_kind(context.get(), &ops, nullptr)); },
               &message) == KDL_ERROR_INVALID_ARGUMENT);
  CHECK(message.find("has a table of 8 bytes") != std::string::npos);
}

}  // namespace
}  // namespace kdl::conformance
