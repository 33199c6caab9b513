#include "chaos/servers.hpp"

#include <cstdlib>
#include <ctime>
#include <fstream>
#include <sstream>

#include "conclave/version.hpp"
#include "support/four_letter_word.hpp"

namespace conclave::chaos {
namespace {

// The time at the beginning of a log's line, 2026-01-31T23:59:59.999, on the clock of histories.
std::optional<nanoseconds> time_of(const std::string& line, nanoseconds wall_to_boot) {
  std::tm parts{};
  parts.tm_isdst = -1;
  const char* const rest = ::strptime(line.c_str(), "%Y-%m-%dT%H:%M:%S.", &parts);
  if (rest == nullptr) return std::nullopt;
  return std::mktime(&parts) * second + std::atoi(rest) * millisecond + wall_to_boot;
}

nanoseconds wall_to_boot() {
  timespec wall{};
  ::clock_gettime(CLOCK_REALTIME, &wall);
  return now() - (wall.tv_sec * second + wall.tv_nsec);
}

}  // namespace

servers::servers(const options& o) {
  testing::zookeeper_options z;
  z.tick_ms = static_cast<int>(o.tick().count());
  if (o.ensemble) {
    ensemble_ = std::make_unique<testing::zookeeper_ensemble>(z);
  } else {
    // zookeeper_server reads these variables.
    ::setenv("CONCLAVE_TEST_SERVER", "embedded", 1);
    ::setenv("CONCLAVE_BINARY", o.conclave.c_str(), 1);
    single_ = std::make_unique<testing::zookeeper_server>(z);
  }
  const auto size = ensemble_ ? ensemble_->size() : 1;
  for (std::size_t i = 0; i < size; ++i) ports_.push_back(member(i).port());
}

std::string servers::connect_string() const {
  return single_ ? single_->connect_string() : ensemble_->connect_string();
}

std::string servers::version() const {
  if (single_) return "conclave serve " + std::string{conclave::version};
  const auto answer = testing::ask_server(ports_.front(), "srvr");
  const std::string label = "Zookeeper version: ";
  const auto begin = answer.find(label);
  if (begin == std::string::npos) return "Apache ZooKeeper";
  const auto from = begin + label.size();
  return "Apache ZooKeeper " + answer.substr(from, answer.find_first_of("-,\n", from) - from) +
         ", an ensemble of " + std::to_string(ports_.size());
}

void servers::start_again(std::size_t i) {
  single_ ? single_->start_again() : ensemble_->start_again(i);
}

std::optional<std::size_t> servers::leader() const {
  return single_ ? std::optional<std::size_t>{0} : ensemble_->leader();
}

void servers::wait_until_all_serve() {
  if (ensemble_) ensemble_->wait_for_quorum();
}

std::vector<expiry> servers::expiries() {
  std::vector<expiry> all;
  const auto offset = wall_to_boot();
  const std::string mark = "Expiring session 0x";
  for (std::size_t i = 0; i < count(); ++i) {
    std::istringstream log{member(i).log()};
    for (std::string line; std::getline(log, line);) {
      const auto found = line.find(mark);
      if (found == std::string::npos) continue;
      const auto session = std::stoull(line.substr(found + mark.size()), nullptr, 16);
      if (const auto at = time_of(line, offset))
        all.push_back({*at, static_cast<std::int64_t>(session)});
    }
  }
  return all;
}

void servers::keep_logs(const std::filesystem::path& folder) {
  for (std::size_t i = 0; i < count(); ++i)
    std::ofstream{folder / ("server-" + std::to_string(i + 1) + ".log")} << member(i).log();
}

}  // namespace conclave::chaos
