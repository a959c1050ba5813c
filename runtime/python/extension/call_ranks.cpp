#include "extension/call_ranks.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/pack_ranks.h"

namespace kdl::python {

bool CallRanks::Read(const kdl_variant& variant, PyObject* keywords) {
  if (keywords == nullptr) return true;
  for (int32_t p = 0; p < variant.param_count; ++p) {
    for (std::string_view dim : runtime::SourceDims(variant.params[p])) {
      if (!runtime::IsPack(dim)) continue;
      std::string_view pack = dim.substr(0, dim.size() - 2);
      std::string name = "rank_" + std::string(pack);
      PyObject* given = PyDict_GetItemString(keywords, name.c_str());
      bool is_known = std::ranges::find(ranks_, pack, &runtime::PackRank::pack) != ranks_.end();
      if (given == nullptr || is_known) continue;
      Ref number(PyNumber_Index(given));
      if (!number) return false;
      ranks_.push_back({pack, PyLong_AsLongLong(number.get())});
      if (PyErr_Occurred() != nullptr) return false;
    }
  }
  return true;
}

}  // namespace kdl::python
