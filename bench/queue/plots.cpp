#include "plots.hpp"

#include <sstream>
#include <utility>

#include "harness/gnuplot.hpp"
#include "variant.hpp"

namespace conclave::bench {
namespace {

// They differ in grey as well, by points and dashes.
struct look {
  const variant* who;
  const char* label;
  const char* colour;
  int point;
  int dash;
};
const look lines[] = {
    {&variants::ours, "Conclave", "#0b3c6f", 7, 1},
    {&variants::asynchronous, "Conclave, 64 calls at once", "#3a86c8", 6, 1},
    {&variants::claiming, "Conclave, claims", "#1d6b3a", 13, 2},
    {&variants::claiming_asynchronously, "Conclave, 64 claims at once", "#2a9d5c", 12, 2},
    {&variants::zookeeper, "ZooKeeper DistributedQueue", "#d99a1b", 11, 3},
    {&variants::curator, "Curator SimpleDistributedQueue", "#d1495b", 5, 3},
    {&variants::kazoo, "kazoo Queue", "#8c8c8c", 9, 5},
    {&variants::kazoo_locking, "kazoo LockingQueue", "#000000", 2, 5},
};

// A block of data for gnuplot: a row for each length, a column for each look.
std::string block(const std::string& name, const results& found, std::size_t consumers) {
  std::ostringstream text;
  text << '$' << name << " << END\n";
  for (const auto length : lengths) {
    text << length;
    const auto series = drain_of(consumers, length);
    for (const auto& l : lines)
      if (found.rounds(series, l.who->name))
        text << ' ' << found.find(series)->result.of(l.who->name, figure::us_per_item).median;
      else
        text << " NaN";
    text << '\n';
  }
  text << "END\n";
  return text.str();
}

std::string panel(const std::string& data, const std::string& title) {
  auto script = "set title '" + title + "'\nplot ";
  int column = 2;
  for (const auto& l : lines)
    script += '$' + data + " using 1:" + std::to_string(column++) + " title '" + l.label +
              "' with linespoints linewidth 2 pointsize 1.1 linecolor rgb '" + l.colour +
              "' pointtype " + std::to_string(l.point) + " dashtype " + std::to_string(l.dash) +
              ", ";
  return script + '\n';
}

std::string drain_script(const results& found) {
  for (const auto consumers : consumer_counts)
    for (const auto length : lengths)
      if (!found.find(drain_of(consumers, length))) return {};
  return block("one", found, 1) + block("four", found, 4) +
         "set logscale xy\n"
         "set xrange [70:14000]\n"
         "set xtics ('100' 100, '1,000' 1000, '10,000' 10000)\n"
         "set xlabel 'items in the queue'\n"
         "set ylabel 'microseconds for each item'\n"
         "set format y '10^{%T}'\n"
         "set grid ytics linecolor rgb '#a0a0a0'\n"
         "set border 3\n"
         "set tics nomirror\n"
         "set multiplot layout 1,2 margins screen 0.075,0.98,0.27,0.86 spacing screen 0.09 "
         "title 'Emptying a queue on one Apache ZooKeeper 3.8: time for each item (less is "
         "better)'\n"
         "set key at screen 0.53, screen 0.08 center center vertical maxrows 3 Left reverse "
         "samplen 5 width 2\n" +
         panel("one", "one consumer") + "unset key\n" + panel("four", "four consumers") +
         "unset multiplot\n";
}

}  // namespace

std::vector<std::string> draw_plots(const results& found, const std::filesystem::path& folder) {
  return draw({{"queue-drain", drain_script(found), "1200,640"}}, folder);
}

}  // namespace conclave::bench
