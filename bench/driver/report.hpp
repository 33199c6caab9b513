// What a benchmark prints and draws for people: environment, tables, goals, plots.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "driver/results.hpp"

namespace conclave::bench {

// On what, and against what, was measured: names and values, in the order of the output.
using environment = std::vector<std::pair<std::string, std::string>>;
void print_environment(const environment& where);

std::string machine();      // processor, cores, kernel
std::string compiler();     // and build type
std::string started_now();  // time of day and load average

// "goal NAME measured VALUE want <= LIMIT met"
void print_goal(const goal& g);
const char* symbol_of(comparison c);  // ">=" or "<="

// Cells of tables.
std::string number(double value);  // the larger, the fewer decimals
std::string with_spread(const spread& s);
// Filled up with spaces. printf counts bytes; this counts characters of UTF-8.
std::string padded(std::string text, std::size_t width);
void print_row(const std::vector<std::pair<std::string, std::size_t>>& cells_and_widths);

enum class shown { median, median_and_spread };

struct figure_column {
  const char* figure;
  const char* title;
  shown what;
  double scale{1};
};
// A row for each variant, and a column for each of these figures that the series has.
void print_table(const series& s, std::span<const figure_column> columns);

struct series_column {
  std::string title;
  std::string series_name;
};
// One figure: a row for each variant, and a column for each of these series that was measured.
void print_table(const results& found, const std::string& title, const char* figure,
                 const std::vector<series_column>& columns,
                 const std::vector<std::string>& variants);

struct plot {
  std::string name;
  std::string script;  // for gnuplot; empty: there is nothing to show
  std::string size;    // "WIDTH,HEIGHT"
};

// How a variant looks in a plot of lines: it differs from the others without colours, too.
struct line_style {
  std::string variant;
  const char* label;
  const char* colour;
  int point;
  int dash;
};

// A block of data for gnuplot: a row for each series, beginning with its title, and three columns
// for each variant (median, smallest, largest).
std::string plot_data(const std::string& name, const results& found,
                      const std::vector<series_column>& rows,
                      const std::vector<std::string>& variants, const char* figure);
// A command that plots the medians of such a block as lines.
std::string plot_lines(const std::string& data, std::span<const line_style> styles);
std::vector<std::string> variants_of(std::span<const line_style> styles);

// Draws each as NAME.svg and NAME.png into the folder, and returns the files. Reports a plot that
// cannot be drawn on standard error.
std::vector<std::string> draw(const std::vector<plot>& plots, const std::filesystem::path& folder);

}  // namespace conclave::bench
