// Prints a human-readable table with column headings.
#pragma once

#include <algorithm>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace conclave::cli {

class table {
 public:
  // `right` contains the indexes of the columns that are aligned right, such as numbers. The last
  // column is never padded.
  table(std::vector<std::string> heading, std::vector<std::size_t> right)
      : rows_{std::move(heading)}, right_{std::move(right)} {}

  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }

  void print(std::ostream& out) const {
    std::vector<std::size_t> widths(rows_.front().size(), 0);
    for (const auto& r : rows_)
      for (std::size_t i = 0; i < r.size(); ++i) widths[i] = std::max(widths[i], r[i].size());
    for (const auto& r : rows_) {
      for (std::size_t i = 0; i + 1 < r.size(); ++i) {
        const std::string space(widths[i] - r[i].size(), ' ');
        const bool right = std::find(right_.begin(), right_.end(), i) != right_.end();
        out << (right ? space + r[i] : r[i] + space) << "  ";
      }
      out << r.back() << "\n";
    }
  }

 private:
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> right_;
};

}  // namespace conclave::cli
