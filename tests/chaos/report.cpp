#include "chaos/report.hpp"

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <thread>

#include "conclave/version.hpp"

namespace conclave::chaos {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) {
      out += c;
    } else {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", c);
      out += code;
    }
  }
  return out + '"';
}

void list_of(std::ostream& out, const std::vector<violation>& all) {
  for (const auto& v : all) {
    out << "\n- " << v.what << "\n";
    if (v.lines.empty()) continue;
    out << "\n";
    for (const auto& line : v.lines) out << "      " << line << "\n";
  }
}

void json_list(std::ostream& out, const std::vector<violation>& all) {
  out << "[";
  const char* comma = "";
  for (const auto& v : all) {
    out << comma << "\n    {\"what\": " << quoted(v.what) << ", \"lines\": [";
    const char* inner = "";
    for (const auto& line : v.lines) {
      out << inner << "\n      " << quoted(line);
      inner = ",";
    }
    out << "]}";
    comma = ",";
  }
  out << "]";
}

// "{ NAME: {...}, ... }"
template <class Map, class Say>
void json_map(std::ostream& out, const Map& all, Say say) {
  out << "{";
  const char* comma = "";
  for (const auto& [name, value] : all) {
    out << comma << "\n    " << quoted(name) << ": {";
    say(value);
    out << "}";
    comma = ",";
  }
  out << "}";
}

}  // namespace

std::string markdown(const run_record& run, const verdict& v) {
  std::ostringstream out;
  out.precision(4);
  const auto faults = v.all_faults();
  const auto recipes = v.all_recipes();
  out << "# Chaos: " << (v.good() ? "no violation" : "FAILED") << "\n\n"
      << "| | |\n|---|---|\n"
      << "| server | " << run.server_version << " |\n"
      << "| library | conclave " << conclave::version << " |\n"
      << "| machine | " << run.machine << " |\n"
      << "| workers | " << run.asked.workers << " processes, sessions of "
      << run.asked.session.count() << " and " << (run.asked.session * 4 / 3).count() << " ms |\n"
      << "| seed | " << run.asked.seed << " |\n"
      << "| faults for | " << run.seconds_of_faults << " s |\n"
      << "| time until every worker succeeded again | " << run.seconds_until_all_succeeded
      << " s |\n"
      << "| faults | " << faults.all << ", of which hit a holder: " << faults.hit_a_holder << " |\n"
      << "| hand-offs | " << recipes.hand_offs << " |\n"
      << "| local grants | " << recipes.local_grants << " |\n"
      << "| losses reported | " << recipes.losses << " |\n"
      << "| stale writes tried | " << v.stale_tried << ", refused: " << v.stale_refused << " |\n"
      << "| shortest time from the deadline of a stopped holder to the next grant | "
      << (v.shortest_gap ? std::to_string(*v.shortest_gap / millisecond) + " ms" : "none") << " |\n"
      << "| violations | " << v.violations.size() << " |\n"
      << "| two holders by the documented limit | " << v.allowed.size() << " |\n\n"
      << "| fault | times | hit a holder |\n|---|---:|---:|\n";
  for (const auto& [kind, c] : v.faults)
    out << "| " << kind << " | " << c.all << " | " << c.hit_a_holder << " |\n";
  out << "\n| recipe | grants | local grants | hand-offs | losses reported | granted after the "
         "deadline |\n"
      << "|---|---:|---:|---:|---:|---:|\n";
  for (const auto& [name, c] : v.recipes)
    out << "| " << name << " | " << c.grants << " | " << c.local_grants << " | " << c.hand_offs
        << " | " << c.losses << " | " << c.late << " |\n";
  out << "\n| queue | items pushed | delivered | outcome unknown |\n|---|---:|---:|---:|\n";
  for (const auto& [name, q] : v.queues)
    out << "| " << name << " | " << q.pushed << " | " << q.delivered << " | " << q.unknown
        << " |\n";
  if (!v.not_covered.empty()) out << "\n## Not covered\n\n";
  for (const auto& what : v.not_covered) out << "- " << what << "\n";
  if (!v.violations.empty()) out << "\n## Violations\n";
  list_of(out, v.violations);
  if (!v.allowed.empty())
    out << "\n## Two holders by the documented limit\n\n"
        << "On an ensemble, a killed or stopped server can cause a session to expire before its "
           "client "
           "can\n"
        << "know: see `client::session_deadline`. The writes of the first holder are refused.\n";
  list_of(out, v.allowed);
  return out.str();
}

std::string json(const run_record& run, const verdict& v) {
  std::ostringstream out;
  const auto faults = v.all_faults();
  const auto recipes = v.all_recipes();
  out << "{\n  \"good\": " << (v.good() ? "true" : "false")
      << ",\n  \"server\": " << quoted(run.server_version)
      << ",\n  \"library\": " << quoted(std::string{"conclave "} + conclave::version)
      << ",\n  \"machine\": " << quoted(run.machine) << ",\n  \"workers\": " << run.asked.workers
      << ",\n  \"session_ms\": " << run.asked.session.count() << ",\n  \"seed\": " << run.asked.seed
      << ",\n  \"seconds_of_faults\": " << run.seconds_of_faults
      << ",\n  \"seconds_until_all_succeeded\": " << run.seconds_until_all_succeeded
      << ",\n  \"faults\": " << faults.all
      << ",\n  \"faults_that_hit_a_holder\": " << faults.hit_a_holder
      << ",\n  \"hand_offs\": " << recipes.hand_offs << ",\n  \"grants\": " << recipes.grants
      << ",\n  \"local_grants\": " << recipes.local_grants
      << ",\n  \"losses_reported\": " << recipes.losses
      << ",\n  \"stale_writes_tried\": " << v.stale_tried
      << ",\n  \"stale_writes_refused\": " << v.stale_refused << ",\n  \"shortest_gap_ms\": "
      << (v.shortest_gap ? std::to_string(*v.shortest_gap / millisecond) : "null")
      << ",\n  \"fault_kinds\": ";
  json_map(out, v.faults, [&](const fault_count& c) {
    out << "\"times\": " << c.all << ", \"hit_a_holder\": " << c.hit_a_holder;
  });
  out << ",\n  \"recipes\": ";
  json_map(out, v.recipes, [&](const recipe_count& c) {
    out << "\"grants\": " << c.grants << ", \"local_grants\": " << c.local_grants
        << ", \"hand_offs\": " << c.hand_offs << ", \"losses_reported\": " << c.losses
        << ", \"granted_late\": " << c.late;
  });
  out << ",\n  \"queues\": ";
  json_map(out, v.queues, [&](const queue_count& c) {
    out << "\"pushed\": " << c.pushed << ", \"delivered\": " << c.delivered
        << ", \"unknown\": " << c.unknown;
  });
  out << ",\n  \"not_covered\": [";
  const char* comma = "";
  for (const auto& what : v.not_covered) {
    out << comma << quoted(what);
    comma = ", ";
  }
  out << "],\n  \"violations\": ";
  json_list(out, v.violations);
  out << ",\n  \"allowed_by_the_documented_limit\": ";
  json_list(out, v.allowed);
  out << "\n}\n";
  return out.str();
}

std::string this_machine() {
  std::ostringstream out;
  out << std::thread::hardware_concurrency() << " cores";
  std::ifstream processors{"/proc/cpuinfo"};
  for (std::string line; std::getline(processors, line);) {
    if (!line.starts_with("model name")) continue;
    out << " of " << line.substr(line.find(':') + 2);
    break;
  }
  const auto pages = ::sysconf(_SC_PHYS_PAGES);
  out << ", " << pages / 1024 * ::sysconf(_SC_PAGESIZE) / 1024 / 1024 << " GiB";
  utsname u{};
  if (::uname(&u) == 0) out << ", " << u.sysname << ' ' << u.release;
  return out.str();
}

}  // namespace conclave::chaos
