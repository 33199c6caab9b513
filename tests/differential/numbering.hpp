// One server's zxids, times and session ids, told in words that are the same for both servers.
//
// Apache's server counts refused writes, too, so zxids cannot be equal. They must be in the same
// order: each that is seen gets the next number and the place between the others that it has, and
// where both servers show the same numbers and places, their zxids are alike but for the gaps.
// Times must fit to the changes: whatever a zxid made carries the same time everywhere.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace conclave::differential {

class numbering {
 public:
  // In the header of a reply that acknowledges a change: the change's own, above all so far.
  std::string change(std::int64_t zxid);
  // In the header of any other reply: the last change that it counts in.
  std::string reached(std::int64_t zxid);
  // In a stat.
  std::string exactly(std::int64_t zxid);
  // The time of what that zxid did.
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
