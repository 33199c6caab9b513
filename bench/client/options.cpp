#include "options.hpp"

#include <stdexcept>

#include "harness/rounds_option.hpp"

namespace conclave::bench {

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
