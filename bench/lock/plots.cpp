#include "plots.hpp"

#include <span>
#include <string>
#include <vector>

#include "history.hpp"
#include "lock_rounds.hpp"
#include "lock_variants.hpp"

namespace conclave::bench {
namespace {

// The bars differ in greyscale, too.
const line_style bars[] = {
    {variant::conclave.name, "Conclave", "#0b3c6f", 0, 0},
    {variant::keeping.name, "Conclave, keep\\_for", "#3f7fc4", 0, 0},
    {variant::curator.name, "Curator InterProcessMutex", "#e08a4f", 0, 0},
    {variant::write_lock.name, "ZooKeeper WriteLock", "#c8cfa0", 0, 0},
    {variant::kazoo.name, "kazoo Lock", "#f3f3f3", 0, 0},
};
const line_style kept_bars[] = {
    {variant::keeping.name, "Conclave, keep\\_for", "#3f7fc4", 0, 0},
    {other_lock::std_mutex, "std::mutex", "#f3f3f3", 0, 0},
    {other_lock::redis, "Redis, SET NX PX and a script", "#8c2f39", 0, 0},
    {variant::curator.name, "Curator InterProcessMutex", "#e08a4f", 0, 0},
};
const line_style lines[] = {
    {variant::asynchronous.name, "Conclave mutex", "#0b3c6f", 7, 1},
    {variant::without_tickets.name, "Conclave, tickets off", "#3a86c8", 6, 2},
    {variant::named.name, "Conclave named\\_mutex", "#2a9d5c", 13, 4},
    {variant::curator.name, "Curator", "#d1495b", 5, 1},
    {variant::kazoo.name, "kazoo", "#8c8c8c", 9, 5},
    {variant::write_lock.name, "ZooKeeper WriteLock", "#d99a1b", 11, 3},
    {variant::naive.name, "naive: all watch all", "#000000", 2, 3},
};

// Returns a script with a group of bars for each row, and a bar for each variant.
std::string bars_script(const char* data, const results& found,
                        const std::vector<series_column>& rows, std::span<const line_style> styles,
                        const std::string& settings, const std::string& key) {
  auto script = plot_data(data, found, rows, variants_of(styles), figure::operations_per_second) +
                settings +
                "set ylabel 'operations a second; whiskers: slowest and fastest round'\n"
                "set style data histograms\n"
                "set style histogram errorbars gap 1.2 linewidth 1.2\n"
                "set style fill solid 1 border rgb '#303030'\n"
                "set boxwidth 0.95\n"
                "set bmargin 4\n"
                "set xtics scale 0\n"
                "set grid ytics linecolor rgb '#a0a0a0'\n"
                "set border 3\n"
                "set tics nomirror\n"
                "set key " +
                key + "\nset xrange [-0.6:" + std::to_string(rows.size()) + " - 0.4]\nplot ";
  int column = 2;
  for (const auto& b : styles) {
    script += "$" + std::string(data) + " using " + std::to_string(column) + ':' +
              std::to_string(column + 1) + ':' + std::to_string(column + 2) +
              (column == 2 ? ":xticlabels(1)" : "") + " title '" + b.label + "' linecolor rgb '" +
              b.colour + "', ";
    column += 3;
  }
  return script + '\n';
}

std::string rates_script(const results& found) {
  std::vector<series_column> rows;
  if (found.find(series_name::cycles))
    rows.push_back({"\"lock and unlock,\\n1 client\"", series_name::cycles});
  for (const auto clients : client_counts)
    if (found.find(series_name::hand_offs(clients)))
      rows.push_back({"\"hand-offs,\\n" + std::to_string(clients) + " clients\"",
                      series_name::hand_offs(clients)});
  if (rows.empty()) return {};
  return bars_script(
      "rates", found, rows, bars,
      "set title 'Locks on one Apache ZooKeeper 3.8: operations a second (more is better)'\n"
      "set yrange [0:*]\n",
      "top right");
}

std::string kept_script(const results& found) {
  std::vector<series_column> rows;
  if (found.find(series_name::kept_by(1)))
    rows.push_back({"\"one thread\"", series_name::kept_by(1)});
  if (found.find(series_name::kept_by(8)))
    rows.push_back({"\"8 threads, one object\"", series_name::kept_by(8)});
  if (rows.empty()) return {};
  return bars_script("kept", found, rows, kept_bars,
                     "set title 'Lock and unlock with a kept lock: operations a second (more is "
                     "better)'\n"
                     "set logscale y\n"
                     "set yrange [100:3e9]\n"
                     "set format y '10^{%T}'\n",
                     "top center horizontal maxrows 2 Left reverse");
}

std::string panel(const char* data, const char* title, const char* label) {
  return std::string("set title '") + title + "'\nset ylabel '" + label + "'\n" +
         plot_lines(data, lines);
}

std::string waiters_script(const results& found) {
  std::vector<series_column> timed;
  std::vector<series_column> counted;
  for (const auto waiters : waiter_counts) {
    const auto name = series_name::waiters(waiters);
    if (!found.find(name)) continue;
    timed.push_back({std::to_string(waiters), name});
    counted.push_back({std::to_string(waiters), series_name::traffic_of(name)});
  }
  if (timed.empty()) return {};
  const auto variants = variants_of(lines);
  return plot_data("time", found, timed, variants, figure::us_per_operation) +
         plot_data("frames", found, counted, variants, figure::frames) +
         plot_data("bytes", found, counted, variants, figure::bytes) +
         "set logscale xy\n"
         "set xrange [7:14000]\n"
         "set xtics ('10' 10, '100' 100, '1,000' 1000, '10,000' 10000)\n"
         "set format y '10^{%T}'\n"
         "set xlabel 'waiters'\n"
         "set grid ytics linecolor rgb '#a0a0a0'\n"
         "set border 3\n"
         "set tics nomirror\n"
         "set multiplot layout 1,3 margins screen 0.055,0.985,0.25,0.86 spacing screen 0.075 "
         "title 'The cost of one hand-off, by the number of waiters (less is better)'\n"
         "unset key\n" +
         panel("time", "time", "microseconds for each hand-off") +
         "set key at screen 0.5, screen 0.07 center center vertical maxrows 2 Left reverse "
         "samplen 5 width 2\n" +
         panel("frames", "frames, both directions", "frames for each hand-off") + "unset key\n" +
         panel("bytes", "bytes, both directions", "bytes for each hand-off") + "unset multiplot\n";
}

}  // namespace

std::vector<plot> lock_plots(const results& found) {
  return {{"lock-rates", rates_script(found), "1000,600"},
          {"lock-kept", kept_script(found), "1000,600"},
          {"lock-waiters", waiters_script(found), "1500,640"}};
}

}  // namespace conclave::bench
