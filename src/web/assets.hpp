// The files of the page, which the build embeds in the program.
#pragma once

#include <string_view>
#include <vector>

namespace conclave::web {

struct asset {
  std::string_view name;
  std::string_view content;
};

const std::vector<asset>& all_assets();

}  // namespace conclave::web
