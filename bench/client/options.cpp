#include "options.hpp"

#include <charconv>
#include <stdexcept>

namespace conclave::bench {
namespace {

std::size_t to_rounds(const std::string& text) {
  std::size_t value = 0;
  const auto* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || rest != end || value < 1 || value > 100)
    throw std::runtime_error("--rounds wants a number from 1 to 100, not '" + text + "'");
  return value;
}

}  // namespace

options parse_options(std::span<const std::string> arguments) {
  options result;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto& name = arguments[i];
    const auto value = [&] {
      if (++i == arguments.size()) throw std::runtime_error(name + " wants a value");
      return arguments[i];
    };
    if (name == "--help" || name == "-h")
      result.help = true;
    else if (name == "--deep")
      result.deep = true;
    else if (name == "--json")
      result.json = value();
    else if (name == "--rounds")
      result.rounds = to_rounds(value());
    else
      throw std::runtime_error("unknown argument '" + name + "'; try --help");
  }
  return result;
}

}  // namespace conclave::bench
