#include "plots.hpp"

#include <sstream>

#include "harness/gnuplot.hpp"
#include "history.hpp"
#include "traffic.hpp"
#include "variant.hpp"

namespace conclave::bench {
namespace {

// They differ in grey as well: the bars from dark to light, the lines by points and dashes.
struct look {
  const variant* who;
  const char* label;
  const char* colour;
  int point;
  int dash;
};
const look bars[] = {
    {&variants::ours, "Conclave", "#3f7fc4", 0, 0},
    {&variants::curator, "Curator InterProcessMutex", "#e08a4f", 0, 0},
    {&variants::write_lock, "ZooKeeper WriteLock", "#c8cfa0", 0, 0},
    {&variants::kazoo, "kazoo Lock", "#f3f3f3", 0, 0},
};
const look lines[] = {
    {&variants::asynchronous, "Conclave mutex", "#0b3c6f", 7, 1},
    {&variants::without_tickets, "Conclave, tickets off", "#3a86c8", 6, 2},
    {&variants::named, "Conclave named\\_mutex", "#2a9d5c", 13, 4},
    {&variants::curator, "Curator", "#d1495b", 5, 1},
    {&variants::kazoo, "kazoo", "#8c8c8c", 9, 5},
    {&variants::write_lock, "ZooKeeper WriteLock", "#d99a1b", 11, 3},
    {&variants::naive, "naive: all watch all", "#000000", 2, 3},
};

std::string number_or_gap(const results& found, const std::string& name, const look& l,
                          const char* figure) {
  if (!found.rounds(name, l.who->name)) return " NaN NaN NaN";
  const auto s = found.find(name)->result.of(l.who->name, figure);
  std::ostringstream text;
  text << ' ' << s.median << ' ' << s.smallest << ' ' << s.largest;
  return text.str();
}

// A block of data for gnuplot: a row for each series, three columns for each look.
template <std::size_t N>
std::string block(const char* name, const results& found, const look (&looks)[N],
                  const std::vector<std::pair<std::string, std::string>>& rows,
                  const char* figure) {
  std::string text = std::string("$") + name + " << END\n";
  for (const auto& [label, series] : rows) {
    text += label;
    for (const auto& l : looks) text += number_or_gap(found, series, l, figure);
    text += '\n';
  }
  return text + "END\n";
}

std::string rates_script(const results& found) {
  std::vector<std::pair<std::string, std::string>> rows;
  if (found.find(series_name::cycles))
    rows.emplace_back("\"lock and unlock,\\n1 client\"", series_name::cycles);
  for (const auto clients : client_counts)
    if (found.find(hand_offs_of(clients)))
      rows.emplace_back("\"hand-offs,\\n" + std::to_string(clients) + " clients\"",
                        hand_offs_of(clients));
  if (rows.empty()) return {};
  auto script = block("rates", found, bars, rows, figure::operations_per_second);
  script +=
      "set title 'Locks on one Apache ZooKeeper 3.8: operations a second (more is better)'\n"
      "set ylabel 'operations a second; whiskers: slowest and fastest round'\n"
      "set style data histograms\n"
      "set style histogram errorbars gap 1.2 linewidth 1.2\n"
      "set style fill solid 1 border rgb '#303030'\n"
      "set boxwidth 0.95\n"
      "set yrange [0:*]\n"
      "set bmargin 4\n"
      "set xtics scale 0\n"
      "set grid ytics linecolor rgb '#a0a0a0'\n"
      "set key top right\n"
      "set border 3\n"
      "set tics nomirror\n"
      "set xrange [-0.6:" +
      std::to_string(rows.size()) + " - 0.4]\nplot ";
  int column = 2;
  for (const auto& l : bars) {
    const auto c = std::to_string(column);
    script += "$rates using " + c + ':' + std::to_string(column + 1) + ':' +
              std::to_string(column + 2) + (column == 2 ? ":xticlabels(1)" : "") + " title '" +
              l.label + "' linecolor rgb '" + l.colour + "', ";
    column += 3;
  }
  return script + '\n';
}

std::string panel(const char* data, const char* title, const char* label) {
  std::string script = std::string("set title '") + title + "'\nset ylabel '" + label + "'\nplot ";
  int column = 2;
  for (const auto& l : lines) {
    script += std::string("$") + data + " using 1:" + std::to_string(column) + " title '" +
              l.label + "' with linespoints linewidth 2 pointsize 1.1 linecolor rgb '" + l.colour +
              "' pointtype " + std::to_string(l.point) + " dashtype " + std::to_string(l.dash) +
              ", ";
    column += 3;
  }
  return script + '\n';
}

std::string waiters_script(const results& found) {
  std::vector<std::pair<std::string, std::string>> timed;
  std::vector<std::pair<std::string, std::string>> counted;
  for (const auto waiters : waiter_counts) {
    if (!found.find(waiters_of(waiters))) continue;
    timed.emplace_back(std::to_string(waiters), waiters_of(waiters));
    counted.emplace_back(std::to_string(waiters), waiters_of(waiters) + series_name::traffic);
  }
  if (timed.empty()) return {};
  return block("time", found, lines, timed, figure::us_per_operation) +
         block("frames", found, lines, counted, figure::frames) +
         block("bytes", found, lines, counted, figure::bytes) +
         "set logscale xy\n"
         "set xrange [7:14000]\n"
         "set xtics ('10' 10, '100' 100, '1,000' 1000, '10,000' 10000)\n"
         "set format y '10^{%T}'\n"
         "set xlabel 'waiters'\n"
         "set grid ytics linecolor rgb '#a0a0a0'\n"
         "set border 3\n"
         "set tics nomirror\n"
         "set multiplot layout 1,3 margins screen 0.055,0.985,0.25,0.86 spacing screen 0.075 "
         "title 'What one hand-off costs, by the length of the line (less is better)'\n"
         "unset key\n" +
         panel("time", "time", "microseconds for each hand-off") +
         "set key at screen 0.5, screen 0.07 center center vertical maxrows 2 Left reverse "
         "samplen 5 width 2\n" +
         panel("frames", "frames, both directions", "frames for each hand-off") + "unset key\n" +
         panel("bytes", "bytes, both directions", "bytes for each hand-off") + "unset multiplot\n";
}

}  // namespace

std::vector<std::string> draw_plots(const results& found, const std::filesystem::path& folder) {
  return draw({{"lock-rates", rates_script(found), "1000,600"},
               {"lock-waiters", waiters_script(found), "1500,640"}},
              folder);
}

}  // namespace conclave::bench
