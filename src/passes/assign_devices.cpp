#include <map>

#include "ir/tensor_view.h"
#include "ir/views.h"
#include "passes/analysis/default_device.h"
#include "passes/analysis/tensor_touches.h"
#include "passes/passes.h"

// assign-devices: chooses the device on which each tensor of a program is allocated. A device that the source
// states with `on` is kept. Otherwise, the tensor is allocated on the device of the first launch that writes
// it or, if no launch writes it, of the first launch that reads it:
//   %h = alloc h on @            launch @f on @one (%x, %h)
//   -> %h = alloc h on @one {by_use = 1}
// Tensors that a swap exchanges are allocated on the same device. If the device was chosen by the launches,
// insert-transfers moves the tensor to the device that writes it next.

namespace kdl::passes {

namespace {

class Placing {
 public:
  Placing(PassContext& context, const ir::Function& program)
      : context_(context), program_(program), classes_(program) {}

  void AssignDevices() {
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
  /// The device of the first launch that writes a tensor of a swap class, and of the first launch that reads
  /// or writes such a tensor.
  struct Use {
    Name written;
    Name touched;
  };

  void Note(const Op* op) {
    if (op->kind() != OpKind::Launch) return;
    Name device = op->attr<AttrKey::Device>();
    for (const Touch& touch : TouchesOf(context_.module, op)) {
      Use& use = uses_[classes_.RepresentativeOf(ir::MemoryOf(touch.tensor))];
      if (use.touched.empty()) use.touched = device;
      if (use.written.empty() && touch.writes) use.written = device;
    }
  }

  Name DeviceFor(const Value* tensor) {
    const Use& use = uses_[classes_.RepresentativeOf(tensor)];
    return use.written.empty() ? use.touched : use.written;
  }

  PassContext& context_;
  const ir::Function& program_;
  SwapClasses classes_;
  std::map<const Value*, Use> uses_;
};

}  // namespace

void RunAssignDevices(PassContext& context, ir::Function& program) {
  Placing(context, program).AssignDevices();
}

}  // namespace kdl::passes
