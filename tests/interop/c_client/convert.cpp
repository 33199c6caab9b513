#include "convert.hpp"

#include <algorithm>

namespace conclave::testing {

std::optional<std::string> data_of(const char* bytes, int length) {
  if (length < 0) return std::nullopt;
  return std::string(bytes, static_cast<std::size_t>(length));
}

std::vector<std::string> strings_of(const String_vector& v) {
  std::vector<std::string> strings(v.data, v.data + v.count);
  std::sort(strings.begin(), strings.end());  // servers return them in any order
  return strings;
}

std::vector<acl_entry> entries_of(const ACL_vector& v) {
  std::vector<acl_entry> entries;
  entries.reserve(static_cast<std::size_t>(v.count));
  for (int i = 0; i < v.count; ++i)
    entries.push_back({v.data[i].perms, v.data[i].id.scheme, v.data[i].id.id});
  return entries;
}

multi_arguments::multi_arguments(const std::vector<op>& ops)
    : ops_(ops),
      converted_(ops.size()),
      results_(ops.size()),
      paths_(ops.size()),
      stats_(ops.size()) {
  for (std::size_t i = 0; i < ops_.size(); ++i) {
    const auto& o = ops_[i];
    const auto length = static_cast<int>(o.data.size());
    switch (o.what) {
      case op::kind::create:
        zoo_create_op_init(&converted_[i], o.path.c_str(), o.data.data(), length,
                           &ZOO_OPEN_ACL_UNSAFE, o.version_or_mode, paths_[i].data(), path_length);
        break;
      case op::kind::remove:
        zoo_delete_op_init(&converted_[i], o.path.c_str(), o.version_or_mode);
        break;
      case op::kind::set:
        zoo_set_op_init(&converted_[i], o.path.c_str(), o.data.data(), length, o.version_or_mode,
                        &stats_[i]);
        break;
      case op::kind::check:
        zoo_check_op_init(&converted_[i], o.path.c_str(), o.version_or_mode);
        break;
    }
  }
}

std::vector<op_result> multi_arguments::taken() const {
  std::vector<op_result> results;
  for (std::size_t i = 0; i < ops_.size(); ++i)
    results.push_back({results_[i].err, paths_[i].data(), stats_[i]});
  return results;
}

}  // namespace conclave::testing
