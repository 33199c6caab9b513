// A transparent hash. It finds std::string keys by a std::string_view without a copy.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace conclave::server_impl {

struct text_hash {
  using is_transparent = void;
  // Not noexcept: libstdc++ then stores the hash with each key. Lookups compare only strings with
  // the same hash, and a rehash does not read the strings.
  std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
};

}  // namespace conclave::server_impl
