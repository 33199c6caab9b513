// The results as a picture, drawn by gnuplot.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "series.hpp"

namespace conclave::bench {

// queue-drain, as SVG and PNG, in the folder. Returns the files; none if the series for it were not
// measured, or (said on standard error) if there is no gnuplot.
std::vector<std::string> draw_plots(const results& found, const std::filesystem::path& folder);

}  // namespace conclave::bench
