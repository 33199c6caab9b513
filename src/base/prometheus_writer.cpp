#include "conclave/detail/prometheus_writer.hpp"

#include <charconv>
#include <cstddef>

namespace conclave {
namespace {

std::string number(double value) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  return {digits, end};
}

// Without an exponent, as people write the limits of a histogram.
std::string decimal(double limit) {
  char digits[32];
  const auto end =
      std::to_chars(digits, digits + sizeof digits, limit, std::chars_format::fixed).ptr;
  return {digits, end};
}

}  // namespace

void detail::prometheus_writer::family(const char* name, const char* type, const char* help) {
  name_ = name;
  text_.append("# HELP ").append(name).append(" ").append(help).append("\n");
  text_.append("# TYPE ").append(name).append(" ").append(type).append("\n");
}

void detail::prometheus_writer::begin_sample(const std::string& labels, const char* suffix) {
  text_.append(name_).append(suffix);
  if (!labels.empty()) text_.append("{").append(labels).append("}");
}

void detail::prometheus_writer::sample(const std::string& labels, double value,
                                       const char* suffix) {
  begin_sample(labels, suffix);
  text_.append(" ").append(number(value)).append("\n");
}

void detail::prometheus_writer::sample(const std::string& labels, std::uint64_t value,
                                       const char* suffix) {
  begin_sample(labels, suffix);
  text_.append(" ").append(std::to_string(value)).append("\n");
}

void detail::prometheus_writer::sample(const std::string& labels, std::span<const double> limits,
                                       std::span<const std::uint64_t> counts, double sum) {
  const auto before = labels.empty() ? "" : labels + ",";
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    total += counts[i];
    const auto limit = i < limits.size() ? decimal(limits[i]) : "+Inf";
    sample(before + "le=\"" + limit + "\"", total, "_bucket");
  }
  sample(labels, sum, "_sum");
  sample(labels, total, "_count");
}

std::string detail::prometheus_writer::escaped(std::string_view value) {
  std::string text;
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    if (c == '\n')
      text += "\\n";
    else
      text += c;
  }
  return text;
}

}  // namespace conclave
