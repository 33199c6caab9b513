// Conversions between the structures of the C interface and those of the tests.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "client.hpp"

namespace conclave::testing {

inline const char* bytes_of(const std::optional<std::string>& data) {
  return data ? data->data() : nullptr;
}
inline int length_of(const std::optional<std::string>& data) {
  return data ? static_cast<int>(data->size()) : -1;
}

std::optional<std::string> data_of(const char* bytes, int length);
std::vector<std::string> strings_of(const String_vector& v);
std::vector<acl_entry> entries_of(const ACL_vector& v);

// The operations of a multi and their results, for the C interface.
class multi_arguments {
 public:
  explicit multi_arguments(const std::vector<op>& ops);

  int count() const noexcept { return static_cast<int>(ops_.size()); }
  const zoo_op_t* ops() const noexcept { return converted_.data(); }
  zoo_op_result_t* results() noexcept { return results_.data(); }
  std::vector<op_result> taken() const;

 private:
  static constexpr std::size_t path_length = 256;

  std::vector<op> ops_;
  std::vector<zoo_op_t> converted_;
  std::vector<zoo_op_result_t> results_;
  std::vector<std::array<char, path_length>> paths_;
  std::vector<Stat> stats_;
};

}  // namespace conclave::testing
