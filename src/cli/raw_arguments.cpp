#include "cli/raw_arguments.hpp"

#include <CLI/CLI.hpp>
#include <memory>

namespace conclave::cli {

CLI::Option* add_raw_arguments(CLI::App& app, const std::string& name,
                               std::vector<std::string>& into, const std::string& description) {
  // CLI11 does not split the value of a single string, nor words that no option takes.
  auto first = std::make_shared<std::string>();
  auto* const option = app.add_option(name, *first, description)
                           // For the help text.
                           ->expected(1, CLI::detail::expected_max_vector_size);
  app.allow_extras();
  app.parse_complete_callback([&app, &into, first, option] {
    if (option->count() != 0) into.push_back(*first);
    for (const auto& word : app.remaining()) {
      if (word.size() > 1 && word.front() == '-') throw CLI::ExtrasError{app.get_name(), {word}};
      into.push_back(word);
    }
  });
  return option;
}

}  // namespace conclave::cli
