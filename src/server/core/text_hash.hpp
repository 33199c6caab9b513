// Lets a map with text for keys be asked for a view of one.
#pragma once

#include <cstddef>
#include <functional>
#include <string_view>

namespace conclave::server_impl {

struct text_hash {
  using is_transparent = void;
  std::size_t operator()(std::string_view s) const noexcept {
    return std::hash<std::string_view>{}(s);
  }
};

}  // namespace conclave::server_impl
