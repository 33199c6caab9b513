#include "rounds_option.hpp"

#include <charconv>
#include <stdexcept>

namespace conclave::bench {

std::size_t to_rounds(const std::string& text) {
  std::size_t value = 0;
  const auto* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || value < 1 || value > 100)
    throw std::runtime_error("--rounds wants a number from 1 to 100, not '" + text + "'");
  return value;
}

}  // namespace conclave::bench
