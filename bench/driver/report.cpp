#include "driver/report.hpp"

#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <fstream>
#include <sstream>
#include <thread>

#include "driver/process.hpp"
#include "support/temporary_directory.hpp"

namespace conclave::bench {
namespace {

constexpr std::size_t first_width = 25;
constexpr std::size_t median_width = 15;
constexpr std::size_t spread_width = 28;

std::string cpu_model() {
  std::ifstream file("/proc/cpuinfo");
  return value_after(file, "model name", ':');
}

std::string kernel() {
  utsname name{};
  ::uname(&name);
  return std::string(name.sysname) + ' ' + name.release + ' ' + name.machine;
}

std::string load_average() {
  double load = 0;
  if (::getloadavg(&load, 1) != 1) return "unknown";
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", load);
  return text;
}

std::string now() {
  const std::time_t t = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&t, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

std::size_t width_of(const figure_column& c) {
  return c.what == shown::median_and_spread ? spread_width : median_width;
}

std::string cell(const series& all, const std::string& variant, const figure_column& c) {
  if (!all.rounds.at(variant).front().contains(c.figure)) return "-";
  const auto s = all.of(variant, c.figure);
  const spread scaled{s.median * c.scale, s.smallest * c.scale, s.largest * c.scale, 0, 0};
  return c.what == shown::median_and_spread ? with_spread(scaled) : number(scaled.median);
}

std::string cell(const series& s, const std::string& variant, const char* figure) {
  if (!s.has(variant)) return "-";
  const auto& rounds = s.rounds.at(variant);
  return rounds.size() > 1 ? with_spread(s.of(variant, figure))
                           : number(rounds.front().at(figure)) + " (1 round)";
}

void draw(const std::string& script, const std::filesystem::path& file,
          const std::string& terminal) {
  const testing::temporary_directory folder;
  const auto commands = folder.path() / "plot.gp";
  std::ofstream(commands) << "set encoding utf8\nset terminal " << terminal << "\nset output '"
                          << file.string() << "'\n"
                          << script;
  output_of({"gnuplot", commands.string()}, std::chrono::seconds{30});
}

}  // namespace

void print_environment(const environment& where) {
  for (const auto& [name, value] : where)
    std::printf("%s %s\n", padded(name, 12).c_str(), value.c_str());
}

std::string machine() {
  return cpu_model() + ", " + std::to_string(std::thread::hardware_concurrency()) + " cores, " +
         kernel();
}

std::string compiler() { return CONCLAVE_BENCH_BUILD; }

std::string started_now() { return now() + ", load average " + load_average(); }

const char* symbol_of(comparison c) { return c == comparison::at_least ? ">=" : "<="; }

void print_goal(const goal& g) {
  std::printf("goal %s measured %.3g want %s %g %s\n", g.name.c_str(), g.measured,
              symbol_of(g.direction), g.limit, g.met() ? "met" : "missed");
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, value >= 1000 ? "%.0f" : value >= 10 ? "%.1f" : "%.2f", value);
  return text;
}

std::string with_spread(const spread& s) {
  return number(s.median) + " (" + number(s.smallest) + "–" + number(s.largest) + ")";
}

std::string padded(std::string text, std::size_t width) {
  const auto characters =
      static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
        return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
      }));
  if (characters < width) text.append(width - characters, ' ');
  return text;
}

void print_row(const std::vector<std::pair<std::string, std::size_t>>& cells_and_widths) {
  std::string line = "  ";
  for (const auto& [text, width] : cells_and_widths) line += padded(text, width);
  std::printf("%s\n", line.substr(0, line.find_last_not_of(' ') + 1).c_str());
}

void print_table(const series& s, std::span<const figure_column> columns) {
  if (s.variants.empty()) return;
  const auto& rounds = s.rounds.at(s.variants.front());
  std::printf("\n%s, %zu round%s\n", s.title.c_str(), rounds.size(), rounds.size() == 1 ? "" : "s");
  std::vector<figure_column> measured;
  std::copy_if(columns.begin(), columns.end(), std::back_inserter(measured),
               [&](const figure_column& c) { return rounds.front().contains(c.figure); });
  std::vector<std::pair<std::string, std::size_t>> row{{"", first_width}};
  for (const auto& c : measured) row.emplace_back(c.title, width_of(c));
  print_row(row);
  for (const auto& variant : s.variants) {
    row = {{variant, first_width}};
    for (const auto& c : measured) row.emplace_back(cell(s, variant, c), width_of(c));
    print_row(row);
  }
}

void print_table(const results& found, const std::string& title, const char* figure,
                 const std::vector<series_column>& columns,
                 const std::vector<std::string>& variants) {
  std::vector<std::pair<std::string, std::size_t>> row{{"", first_width}};
  std::vector<const series*> measured;
  for (const auto& c : columns) {
    const auto* s = found.find(c.series_name);
    if (!s) continue;
    measured.push_back(s);
    row.emplace_back(c.title, spread_width);
  }
  if (measured.empty()) return;
  std::printf("\n%s\n", title.c_str());
  print_row(row);
  for (const auto& variant : variants) {
    row = {{variant, first_width}};
    for (const auto* s : measured) row.emplace_back(cell(*s, variant, figure), spread_width);
    print_row(row);
  }
}

std::string plot_data(const std::string& name, const results& found,
                      const std::vector<series_column>& rows,
                      const std::vector<std::string>& variants, const char* figure) {
  std::ostringstream text;
  text << '$' << name << " << END\n";
  for (const auto& row : rows) {
    text << row.title;
    const auto* s = found.find(row.series_name);
    for (const auto& variant : variants) {
      if (s && s->has(variant)) {
        const auto value = s->of(variant, figure);
        text << ' ' << value.median << ' ' << value.smallest << ' ' << value.largest;
      } else {
        text << " NaN NaN NaN";
      }
    }
    text << '\n';
  }
  text << "END\n";
  return text.str();
}

std::string plot_lines(const std::string& data, std::span<const line_style> styles) {
  std::ostringstream script;
  script << "plot ";
  int column = 2;
  for (const auto& s : styles) {
    script << '$' << data << " using 1:" << column << " title '" << s.label
           << "' with linespoints linewidth 2 pointsize 1.1 linecolor rgb '" << s.colour
           << "' pointtype " << s.point << " dashtype " << s.dash << ", ";
    column += 3;
  }
  script << '\n';
  return script.str();
}

std::vector<std::string> variants_of(std::span<const line_style> styles) {
  std::vector<std::string> names;
  for (const auto& s : styles) names.push_back(s.variant);
  return names;
}

std::vector<std::string> draw(const std::vector<plot>& plots, const std::filesystem::path& folder) {
  std::vector<std::string> files;
  for (const auto& p : plots) {
    if (p.script.empty()) continue;
    for (const auto& [ending, terminal] :
         {std::pair{".svg", "svg background rgb 'white' font 'DejaVu Sans,13' size "},
          std::pair{".png", "pngcairo font 'DejaVu Sans,11' size "}}) {
      const auto file = folder / (p.name + ending);
      try {
        draw(p.script, file, terminal + p.size);
        files.push_back(file.string());
      } catch (const std::exception& e) {
        std::fprintf(stderr, "no plot: %s\n", e.what());
      }
    }
  }
  return files;
}

}  // namespace conclave::bench
