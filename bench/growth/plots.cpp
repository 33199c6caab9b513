#include "plots.hpp"

#include <algorithm>
#include <string>

#include "peers.hpp"

namespace conclave::bench {
namespace {

const line_style lines[] = {
    {variant::embedded, "Conclave, embedded server", "#0b3c6f", 7, 1},
    {variant::apache, "Conclave, Apache ZooKeeper", "#3a86c8", 6, 2},
    {variant::curator, "Curator, Apache ZooKeeper", "#d1495b", 5, 3},
    {variant::kazoo, "kazoo, Apache ZooKeeper", "#8c8c8c", 9, 5},
};

std::string block_name(const growth_series& s) {
  auto name = s.workload;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// All panels have the same range, so that their slopes can be compared.
std::string panels(const results& found, const std::vector<growth_series>& all, const char* figure,
                   const std::string& title, const std::string& range) {
  constexpr std::size_t columns = 4;
  std::string data;
  std::string panels;
  std::size_t count = 0;
  for (const auto& s : all) {
    std::vector<series_column> rows;
    for (const auto& step : costs(found, s, variant::embedded, figure)) {
      const auto n = static_cast<std::size_t>(step.n);
      rows.push_back({std::to_string(n), s.step_name(n)});
    }
    if (!s.grows || rows.size() < 2) continue;
    ++count;
    data += plot_data(block_name(s), found, rows, variants_of(lines), figure);
    panels += "set title '" + s.title + "' noenhanced\n" + plot_lines(block_name(s), lines) +
              "unset key\n";
  }
  if (count == 0) return {};
  const auto rows = (count + columns - 1) / columns;
  return data +
         "set logscale xy\n"
         "set xrange [60:1700000]\n"
         "set xtics ('100' 100, '10^3' 1000, '10^4' 10000, '10^5' 100000, '10^6' 1000000)\n"
         "set format y '10^{%T}'\n"
         "set yrange " +
         range +
         "\n"
         "set grid ytics linecolor rgb '#a0a0a0'\n"
         "set border 3\n"
         "set tics nomirror\n"
         "set multiplot layout " +
         std::to_string(rows) + ',' + std::to_string(columns) +
         " margins screen 0.04,0.985,0.09,0.9 spacing screen 0.045,0.075 title '" + title +
         "'\n"
         "set key at screen 0.5, screen 0.025 center center vertical maxrows 2 Left reverse "
         "samplen 5 "
         "width 2\n" +
         panels + "unset multiplot\n";
}

}  // namespace

std::vector<plot> growth_plots(const results& found, const std::vector<growth_series>& all) {
  return {{"growth-cpu",
           panels(found, all, figure::cpu_us_each,
                  "CPU time of client and server for one of n, in microseconds (level: n times as "
                  "many cost n times as much)",
                  "[1:100000]"),
           "1500,1200"},
          {"growth-bytes",
           panels(found, all, figure::bytes_each,
                  "Bytes on the wire for one of n (level: n times as many cost n times as much)",
                  "[100:1000000]"),
           "1500,1200"}};
}

}  // namespace conclave::bench
