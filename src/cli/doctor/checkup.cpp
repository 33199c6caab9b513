#include "cli/doctor/checkup.hpp"

#include <algorithm>
#include <iostream>

#include "cli/exit_code.hpp"
#include "cli/show/text.hpp"

namespace conclave::cli {
namespace {

constexpr std::size_t mark_width = 9, name_width = 12;

const char* word(mark m) {
  switch (m) {
    case mark::ok: return "ok";
    case mark::skipped: return "skipped";
    case mark::warning: return "warning";
    case mark::failed: return "FAILED";
  }
  return "";
}

const char* colour(mark m) {
  switch (m) {
    case mark::ok: return "\033[32m";
    case mark::skipped: return "\033[2m";
    case mark::warning: return "\033[33m";
    case mark::failed: return "\033[1;31m";
  }
  return "";
}

std::string column(std::string text, std::size_t width) {
  text.resize(std::max(text.size() + 1, width), ' ');
  return text;
}

}  // namespace

void checkup::add(finding f) {
  if (!json_) {
    static const bool coloured = output_format::of_stdout().colour;
    std::cout << (coloured ? colour(f.how) : "") << column(word(f.how), mark_width)
              << (coloured ? "\033[0m" : "") << column(f.name, name_width) << f.text << "\n";
    if (!f.advice.empty())
      std::cout << std::string(mark_width + name_width, ' ') << f.advice << "\n";
    std::cout.flush();
  }
  findings_.push_back(std::move(f));
}

std::size_t checkup::count(mark m) const {
  return static_cast<std::size_t>(std::count_if(findings_.begin(), findings_.end(),
                                                [m](const finding& f) { return f.how == m; }));
}

int checkup::end(bool reached) const {
  const auto failures = count(mark::failed), warnings = count(mark::warning);
  if (json_) {
    json::array list;
    for (const auto& f : findings_) {
      json::object o{{"name", f.name}, {"mark", f.how == mark::failed ? "failed" : word(f.how)}};
      o["text"] = f.text;
      if (!f.advice.empty()) o["advice"] = f.advice;
      for (const auto& v : f.values) o.insert(v);
      list.push_back(std::move(o));
    }
    print(json::object{{"reached", reached},
                       {"failed", failures},
                       {"warnings", warnings},
                       {"checks", std::move(list)}});
  } else if (!reached) {
    std::cout << "No server can be used.\n";
  } else if (failures == 0 && warnings == 0) {
    std::cout << "All checks passed.\n";
  } else {
    const auto said = [](std::size_t n, const char* what) {
      return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
    };
    std::cout << said(failures, "failure") << ", " << said(warnings, "warning") << ".\n";
  }
  if (!reached) return unavailable;
  return failures == 0 ? ok : failed;
}

}  // namespace conclave::cli
