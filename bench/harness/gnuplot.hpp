// Pictures of what was measured.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace conclave::bench {

struct plot {
  std::string name;
  std::string script;  // for gnuplot; empty: there is nothing to show
  std::string size;    // "WIDTH,HEIGHT"
};

// Draws each as NAME.svg and NAME.png into the folder, and returns the files. What cannot be drawn
// is said on standard error, and left out.
std::vector<std::string> draw(const std::vector<plot>& plots, const std::filesystem::path& folder);

}  // namespace conclave::bench
