#include <map>

#include "ir/tensor_view.h"
#include "ir/views.h"
#include "passes/analysis/default_device.h"
#include "passes/analysis/tensor_touches.h"
#include "passes/passes.h"

// place: every tensor of a program begins its life on a device. What its `on` says stands; else it is where a launch
// first writes it, or, without one, first reads it:
//   %h = alloc h on @            launch @f on @one (%x, %h)
//   -> %h = alloc h on @one {by_use = 1}
// Tensors that a swap exchanges begin in one place. insert-transfers moves what is by use to where it is written next.

namespace kdl::passes {

namespace {

class Placing {
 public:
  Placing(PassContext& context, const ir::Function& program)
      : context_(context), program_(program), classes_(program) {}

  void Run() {
    ir::Walk(program_.body, [&](const Op* op) { Note(op); });
    ir::Walk(program_.body, [&](Op* op) {
      bool is_open = op->kind() == OpKind::Alloc && op->attr<AttrKey::Device>().empty();
      if (!is_open) return;
      Name device = DeviceFor(op->result());
      if (device.empty()) device = DefaultDevice(context_.module);
      op->SetAttr(ir::MakeAttr<AttrKey::Device>(device));
      op->SetAttr(ir::MakeAttr<AttrKey::ByUse>(1));
    });
  }

 private:
  /// The first launches of the tensors that share its memory.
  struct Use {
    Name written;
    Name touched;
  };

  void Note(const Op* op) {
    if (op->kind() != OpKind::Launch) return;
    Name device = op->attr<AttrKey::Device>();
    for (const Touch& touch : TouchesOf(context_.module, op)) {
      Use& use = uses_[classes_.Of(ir::MemoryOf(touch.tensor))];
      if (use.touched.empty()) use.touched = device;
      if (use.written.empty() && touch.writes) use.written = device;
    }
  }

  Name DeviceFor(const Value* tensor) {
    const Use& use = uses_[classes_.Of(tensor)];
    return use.written.empty() ? use.touched : use.written;
  }

  PassContext& context_;
  const ir::Function& program_;
  SwapClasses classes_;
  std::map<const Value*, Use> uses_;
};

}  // namespace

void RunAssignDevices(PassContext& context, ir::Function& program) {
  Placing(context, program).Run();
}

}  // namespace kdl::passes
