#include "workgroup/workgroup_prints.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "core/element.h"
#include "kdl/workgroup_abi.h"

namespace kdl::runtime {

namespace {

// Reads the numbers in the print memory one after another.
class Reader {
 public:
  explicit Reader(std::span<const std::int64_t> numbers) : numbers_(numbers) {}
  std::int64_t Next() { return numbers_[at_++]; }
  // Whether another print follows. If a print did not fit, zeros follow the last complete print.
  bool HasPrint() const { return at_ < numbers_.size() && numbers_[at_] != 0; }

 private:
  std::span<const std::int64_t> numbers_;
  std::size_t at_ = 0;
};

// Reads a value. Its elements are stored in `bytes`, in the layout of host memory.
kdl_tensor ValueOf(Reader& reader, std::vector<char>& bytes) {
  kdl_tensor value = {};
  value.element = static_cast<std::uint8_t>(reader.Next());
  value.element_bits = FactsOfElement(value.element)->bits;
  value.rank = static_cast<std::int32_t>(reader.Next());
  std::int64_t count = 1;
  for (int d = 0; d < value.rank; ++d) value.size[d] = reader.Next();
  for (int d = value.rank; d-- > 0;) {
    value.stride[d] = count;
    count *= value.size[d];
  }
  const auto element_bytes = static_cast<std::size_t>(value.element_bits / 8);
  bytes.resize(static_cast<std::size_t>(count) * element_bytes);
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const std::int64_t bits = reader.Next();
    std::memcpy(bytes.data() + i * element_bytes, &bits, element_bytes);
  }
  value.data = bytes.data();
  return value;
}

void ShowOne(const kdl_launch_request& request, Reader& reader) {
  reader.Next();  // the print's size
  const auto location = static_cast<std::int32_t>(reader.Next());
  kdl_core core = {};
  core.core_id = reader.Next();
  core.core_num = request.core_num;
  core.launch = request.launch;
  const auto count = static_cast<std::size_t>(reader.Next());
  std::vector<std::vector<char>> bytes(count);
  std::vector<kdl_tensor> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(ValueOf(reader, bytes[i]));
  const kdl_host& host = *request.launch->host;
  host.print(&core, location, static_cast<std::int32_t>(count), values.data());
}

}  // namespace

bool Prints(const kdl_variant& variant) {
  return std::any_of(variant.locations, variant.locations + variant.location_count,
                     [](const kdl_location& location) { return location.code == 0; });
}

Error ShowPrints(const kdl_launch_request& request, std::span<const std::int64_t> numbers,
                 std::int64_t taken) {
  Reader reader(numbers.subspan(std::min<std::size_t>(numbers.size(), kdl_workgroup_first_print)));
  while (reader.HasPrint()) ShowOne(request, reader);
  if (taken <= static_cast<std::int64_t>(numbers.size())) return nullptr;
  return Fail(KDL_ERROR_OUT_OF_MEMORY, "kernel '", request.kernel->name, "' prints more than the ",
              kPrintNumbers * 8, " bytes that a launch can print on this device; print less");
}

}  // namespace kdl::runtime
