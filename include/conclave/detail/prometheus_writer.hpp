// Writes metrics in the text format of Prometheus. Used by prometheus_text() and by `conclave ui`.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace conclave::detail {

class prometheus_writer {
 public:
  // Begins a metric. The samples that follow belong to it.
  void family(const char* name, const char* type, const char* help);
  // `labels` is empty or the part between the braces.
  void sample(const std::string& labels, double value, const char* suffix = "");
  void sample(const std::string& labels, std::uint64_t value, const char* suffix = "");
  // A histogram. `counts` has one element more than `limits`, and each duration is in one of them.
  void sample(const std::string& labels, std::span<const double> limits,
              std::span<const std::uint64_t> counts, double sum);
  std::string text() { return std::move(text_); }

  // Returns the value of a label as it stands between the quotes.
  static std::string escaped(std::string_view value);

 private:
  void begin_sample(const std::string& labels, const char* suffix);

  std::string name_, text_;
};

}  // namespace conclave::detail
