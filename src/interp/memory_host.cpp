#include "interp/memory_host.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "ir/ring.h"
#include "support/check.h"

namespace kdl::interp {

Status ProgramHost::Draw(TensorId, uint64_t, const std::vector<EventId>&) {
  return Failure{"only `kernelc test` can generate random tensors"};
}

Status ProgramHost::Expect(const ExpectRequest&) {
  return Failure{"only `kernelc test` can check the expectations of a test"};
}

namespace {

/// The bytes of undefined memory. As f32 or f64 they are a huge number, and as an index they are far out
/// of bounds.
constexpr std::byte kUnwritten{0xFD};

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Returns the number of bytes of a tensor. Returns nothing if a size is negative or the number does not
/// fit in 63 bits.
std::optional<int64_t> BytesOf(Scalar scalar, const std::vector<int64_t>& sizes) {
  int64_t bytes = Bytes(scalar);
  bool empty = false;
  bool overflow = false;
  for (int64_t size : sizes) {
    if (size < 0) return std::nullopt;
    empty = empty || size == 0;
    overflow = __builtin_mul_overflow(bytes, size, &bytes) || overflow;
  }
  if (empty) return 0;
  return overflow ? std::nullopt : std::optional(bytes);
}

template <class Visit>
void ForEachIndex(const std::vector<int64_t>& sizes, Visit visit) {
  bool is_empty = std::find(sizes.begin(), sizes.end(), 0) != sizes.end();
  std::vector<int64_t> index(sizes.size(), 0);
  for (bool more = !is_empty; more;) {
    visit(index);
    size_t d = sizes.size();
    while (d > 0 && ++index[d - 1] == sizes[d - 1]) index[--d] = 0;
    more = d > 0;
  }
}

/// Returns the addresses of a tensor's elements.
std::vector<const std::byte*> AddressesOf(const TensorArgument& tensor) {
  std::vector<const std::byte*> addresses;
  ForEachIndex(tensor.sizes, [&](const std::vector<int64_t>& index) {
    int64_t offset = 0;
    for (size_t d = 0; d < index.size(); ++d) offset += index[d] * tensor.strides[d];
    addresses.push_back(static_cast<const std::byte*>(tensor.data) + offset * Bytes(tensor.scalar));
  });
  return addresses;
}

/// Returns whether two tensors share elements. Compares them element by element only if their address
/// ranges overlap.
bool ShareElements(const TensorArgument& a, const TensorArgument& b) {
  auto end = [](const TensorArgument& tensor) {
    int64_t last = 1;
    for (size_t d = 0; d < tensor.sizes.size(); ++d)
      last += (tensor.sizes[d] - 1) * tensor.strides[d];
    return static_cast<const std::byte*>(tensor.data) + last * Bytes(tensor.scalar);
  };
  bool is_empty = std::ranges::find(a.sizes, 0) != a.sizes.end() ||
                  std::ranges::find(b.sizes, 0) != b.sizes.end();
  if (is_empty || end(a) <= b.data || end(b) <= a.data) return false;
  std::vector<const std::byte*> first = AddressesOf(a);
  std::vector<const std::byte*> second = AddressesOf(b);
  std::ranges::sort(first);
  return std::ranges::any_of(
      second, [&](const std::byte* address) { return std::ranges::binary_search(first, address); });
}

/// Returns whether two different indices of a tensor refer to the same element.
bool HasSharedElements(const TensorArgument& tensor) {
  if (tensor.strides == RowMajorStrides(tensor.sizes)) return false;
  std::vector<const std::byte*> addresses = AddressesOf(tensor);
  std::ranges::sort(addresses);
  return std::ranges::adjacent_find(addresses) != addresses.end();
}

/// Checks that no argument that the kernel writes overlaps another argument.
Status CheckOverlaps(const ir::Function& kernel, const std::vector<TensorArgument>& tensors) {
  std::vector<const ir::Param*> params;
  for (const ir::Param& param : kernel.params) {
    if (param.value->type()->kind == ir::TypeKind::Tensor) params.push_back(&param);
  }
  for (size_t p = 0; p < params.size(); ++p) {
    if (params[p]->direction == ir::Direction::In) continue;
    for (size_t q = 0; q < params.size(); ++q) {
      bool is_known = q == p || (q < p && params[q]->direction != ir::Direction::In);
      if (is_known || !ShareElements(tensors[p], tensors[q])) continue;
      return Failure{
          fmt::format("launch of '{}': the tensors for {} and {} share memory, but the first is "
                      "written; a written tensor must not overlap another parameter",
                      kernel.base_name(), params[p]->value->name().text(),
                      params[q]->value->name().text()),
          FailureKind::User};
    }
  }
  return {};
}

}  // namespace

Constants ParseConstants(std::string_view text) {
  Constants constants;
  while (!text.empty()) {
    size_t comma = text.find(',');
    std::string_view entry = Trim(text.substr(0, comma));
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    size_t equals = entry.find('=');
    if (equals == std::string_view::npos) continue;
    std::string_view number = Trim(entry.substr(equals + 1));
    int64_t value = 0;
    auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), value);
    bool is_number = error == std::errc() && end == number.data() + number.size();
    if (is_number) constants[std::string(Trim(entry.substr(0, equals)))] = value;
  }
  return constants;
}

TensorId MemoryHost::Add(Entry entry) {
  tensors_.push_back(std::move(entry));
  return TensorId(static_cast<uint32_t>(tensors_.size() - 1));
}

TensorId MemoryHost::Wrap(TensorArgument tensor) { return Add({nullptr, std::move(tensor), true}); }

Status MemoryHost::Finish() const { return failed_ ? Status(*failed_) : Status(); }

Result<TensorId> MemoryHost::Alloc(const AllocRequest& request) {
  std::optional<int64_t> bytes = BytesOf(request.scalar, request.sizes);
  if (!bytes) {
    return Failure{
        fmt::format("tensor '{}' would be {}[{}]; sizes must be 0 or more, and the tensor smaller "
                    "than 2^63 bytes",
                    request.name.text(), Spelling(request.scalar), fmt::join(request.sizes, ", "))};
  }
  auto memory = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(*bytes), kUnwritten);
  void* data = memory->data();
  return Add({std::move(memory),
              {data, request.scalar, request.sizes, RowMajorStrides(request.sizes)},
              true});
}

Status MemoryHost::Free(TensorId tensor, const std::vector<EventId>&) {
  Entry& entry = tensors_[tensor.value];
  KDL_CHECK(entry.alive, "tensor {} of a program is freed twice", tensor.value);
  entry.alive = false;
  entry.memory.reset();
  return {};
}

Result<TransferResult> MemoryHost::Transfer(const TransferRequest& request) {
  const Entry& entry = tensors_[request.tensor.value];
  KDL_CHECK(entry.alive, "tensor {} of a program is moved after it was freed",
            request.tensor.value);
  return TransferResult{Add(Entry(entry)), EventId()};
}

/// Always succeeds, because there is only one memory.
Status MemoryHost::Lives(TensorId, Name, Name) { return {}; }

Result<bool> MemoryHost::Overlap(TensorId a, TensorId b) {
  const TensorArgument& first = tensors_[a.value].view;
  return a == b ? HasSharedElements(first) : ShareElements(first, tensors_[b.value].view);
}

Result<EventId> MemoryHost::Relocate(const TransferRequest&) { return EventId(); }

Result<EventId> MemoryHost::CopyBack(const CopyRequest&) { return EventId(); }

Result<EventId> MemoryHost::Copy(const CopyRequest& request) {
  if (failed_) return *failed_;
  const std::vector<int64_t>& sizes = tensors_[request.from.value].view.sizes;
  if (sizes != tensors_[request.to.value].view.sizes)
    return Failure{"copy between tensors of different sizes", FailureKind::User};
  auto bytes = static_cast<size_t>(Bytes(tensors_[request.to.value].view.scalar));
  if (ShareElements(tensors_[request.from.value].view, tensors_[request.to.value].view))
    return Failure{"copy between tensors that share memory", FailureKind::User};
  ForEachIndex(sizes, [&](const std::vector<int64_t>& index) {
    std::memcpy(ElementAt(request.to, index), ElementAt(request.from, index), bytes);
  });
  return EventId();
}

Result<EventId> MemoryHost::Fill(const FillRequest& request) {
  if (failed_) return *failed_;
  auto bytes = static_cast<size_t>(Bytes(tensors_[request.tensor.value].view.scalar));
  ForEachIndex(tensors_[request.tensor.value].view.sizes, [&](const std::vector<int64_t>& index) {
    std::memcpy(ElementAt(request.tensor, index), &request.bits, bytes);
  });
  return EventId();
}

TensorId MemoryHost::View(const ViewRequest& request) {
  Entry view = tensors_[request.tensor.value];
  KDL_CHECK(view.alive, "tensor {} of a program is viewed after it was freed",
            request.tensor.value);
  if (view.view.data)
    view.view.data =
        static_cast<std::byte*>(view.view.data) + request.offset * Bytes(view.view.scalar);
  view.view.sizes = request.sizes;
  view.view.strides = request.strides;
  return Add(std::move(view));
}

std::vector<int64_t> MemoryHost::Strides(TensorId tensor) const {
  return tensors_[tensor.value].view.strides;
}

std::byte* MemoryHost::ElementAt(TensorId tensor, const std::vector<int64_t>& index) {
  const Entry& entry = tensors_[tensor.value];
  KDL_CHECK(entry.alive, "tensor {} of a program is accessed after it was freed", tensor.value);
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d) offset += index[d] * entry.view.strides[d];
  return static_cast<std::byte*>(entry.view.data) + offset * Bytes(entry.view.scalar);
}

Result<uint64_t> MemoryHost::Load(TensorId tensor, const std::vector<int64_t>& index,
                                  const std::vector<EventId>&) {
  if (failed_) return *failed_;
  uint64_t bits = 0;
  auto bytes = static_cast<size_t>(Bytes(tensors_[tensor.value].view.scalar));
  std::memcpy(&bits, ElementAt(tensor, index), bytes);
  return bits;
}

Status MemoryHost::Store(uint64_t bits, TensorId tensor, const std::vector<int64_t>& index,
                         const std::vector<EventId>&) {
  if (failed_) return *failed_;
  auto bytes = static_cast<size_t>(Bytes(tensors_[tensor.value].view.scalar));
  std::memcpy(ElementAt(tensor, index), &bits, bytes);
  return {};
}

Result<int64_t> MemoryHost::Cores(Name) { return default_core_num_; }

/// Returns an event that has already occurred, because every operation ends before its call returns.
Result<EventId> MemoryHost::Mark(Name, int64_t) { return EventId(); }

Result<WorkspaceId> MemoryHost::MakeWorkspace(Name, Name) {
  workspaces_.push_back(0);
  return WorkspaceId(static_cast<uint32_t>(workspaces_.size() - 1));
}

Result<int64_t> MemoryHost::Footprint(Name, Name kernel, Name) {
  const ir::Function* function = module_->FindFunction(kernel);
  KDL_CHECK(function, "footprint of '{}', which is not in the module", kernel.text());
  return ir::Footprint(*function);
}

Result<int64_t> MemoryHost::Instances(Name, std::optional<int64_t> core_num) {
  return core_num.value_or(default_core_num_);
}

Status MemoryHost::Reserve(const ReserveRequest& request) {
  int64_t bytes = 0;
  if (__builtin_mul_overflow(request.instances, request.footprint, &bytes)) {
    return Failure{fmt::format("a workspace would have {} times {} bytes, which is 2^63 or more",
                               request.instances, request.footprint)};
  }
  int64_t& held = workspaces_[request.workspace.value];
  held = std::max(held, bytes);
  return {};
}

Result<EventId> MemoryHost::Launch(const LaunchRequest& request) {
  const ir::Function* kernel = module_->FindFunction(request.kernel);
  KDL_CHECK(kernel, "launch of '{}', which is not in the module", request.kernel.text());
  KernelArguments arguments;
  arguments.constants = ParseConstants(request.constants.text());
  for (const LaunchArgument& argument : request.arguments) {
    if (!argument.tensor.valid()) {
      arguments.scalars.push_back(argument.bits);
      continue;
    }
    const Entry& entry = tensors_[argument.tensor.value];
    KDL_CHECK(entry.alive, "launch of '{}' with a tensor that was freed", request.kernel.text());
    arguments.tensors.push_back(entry.view);
  }
  if (failed_) return EventId();
  if (Status apart = CheckOverlaps(*kernel, arguments.tensors); !apart.ok()) return apart.failure();
  Result<std::optional<Trap>> run = RunKernel(
      *module_, *kernel, arguments, request.core_num.value_or(default_core_num_), options_);
  if (!run.ok()) return run.failure();
  ++launch_count_;
  if (*run) failed_ = Failure{ToString(**run)};
  return EventId();
}

}  // namespace kdl::interp
