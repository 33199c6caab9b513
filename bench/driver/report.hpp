// The report for people: environment, tables, goals, plots.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "driver/results.hpp"

namespace conclave::bench {

// The machine, the programs and the settings of the benchmark, as names and values in the order of
// the output.
using environment = std::vector<std::pair<std::string, std::string>>;
void print_environment(const environment& where);

std::string machine();      // processor, cores, kernel
std::string compiler();     // compiler and build type
std::string started_now();  // time of day and load average

// "goal NAME measured VALUE want <= LIMIT met"
void print_goal(const goal& g);
const char* symbol_of(comparison c);  // ">=" or "<="

// Cells of tables.
std::string number(double value);  // larger numbers have fewer decimals
std::string with_spread(const spread& s);
// Pads the text with spaces. Counts UTF-8 characters, while printf counts bytes.
std::string padded(std::string text, std::size_t width);
void print_row(const std::vector<std::pair<std::string, std::size_t>>& cells_and_widths);

enum class shown { median, median_and_spread };

struct figure_column {
  const char* figure;
  const char* title;
  shown what;
  double scale{1};
};
// Prints a row for each variant, and a column for each of these figures that the first variant has.
void print_table(const series& s, std::span<const figure_column> columns);

struct series_column {
  std::string title;
  std::string series_name;
};
// Prints one figure: a row for each variant, and a column for each measured series.
void print_table(const results& found, const std::string& title, const char* figure,
                 const std::vector<series_column>& columns,
                 const std::vector<std::string>& variants);

struct plot {
  std::string name;
  std::string script;  // for gnuplot; empty: no data to plot
  std::string size;    // "WIDTH,HEIGHT"
};

// The style of a variant in a line plot. Lines must differ even without colours.
struct line_style {
  std::string variant;
  const char* label;
  const char* colour;
  int point;
  int dash;
};

// Returns a data block for gnuplot. It has a row for each series, which begins with the title of
// the series, and three columns for each variant (median, smallest, largest).
std::string plot_data(const std::string& name, const results& found,
                      const std::vector<series_column>& rows,
                      const std::vector<std::string>& variants, const char* figure);
// Returns a command that plots the medians of a data block as lines.
std::string plot_lines(const std::string& data, std::span<const line_style> styles);
std::vector<std::string> variants_of(std::span<const line_style> styles);

// Draws each plot as NAME.svg and NAME.png in the folder, and returns the files. If a plot cannot
// be drawn, prints the reason on standard error.
std::vector<std::string> draw(const std::vector<plot>& plots, const std::filesystem::path& folder);

}  // namespace conclave::bench
