// Replaces the zxids, times and session ids of one server by text that is the same for both
// servers.
//
// Apache's server also assigns zxids to refused writes, so zxids cannot be equal, but their order
// must be. Each new zxid gets the next number and its rank among the known zxids. If numbers and
// ranks are equal on both servers, the zxids differ only in their gaps. The time of a zxid must be
// the same wherever it appears.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace conclave::differential {

class numbering {
 public:
  // The zxid of a reply that confirms a change. It must be higher than all earlier zxids.
  std::string change(std::int64_t zxid);
  // The zxid of any other reply: the last change that the server had applied.
  std::string reached(std::int64_t zxid);
  // A zxid in a stat.
  std::string exactly(std::int64_t zxid);
  // The time of the change with this zxid.
  std::string time(std::int64_t zxid, std::int64_t ms);

  std::string session(std::int64_t id) const;
  void add_session(std::int64_t id);

  std::size_t changes() const noexcept { return by_number_.size(); }
  std::int64_t zxid_of(std::size_t change) const { return by_number_.at(change); }

 private:
  std::string numbered(std::int64_t zxid);
  std::string last_before(std::int64_t zxid) const;

  std::map<std::int64_t, std::size_t> numbers_;
  std::vector<std::int64_t> by_number_;
  std::map<std::int64_t, std::int64_t> times_;
  std::map<std::int64_t, std::size_t> sessions_;
  std::int64_t highest_ = 0;
};

}  // namespace conclave::differential
