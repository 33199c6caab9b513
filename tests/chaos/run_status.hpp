// The current state of a run, read from the histories while they are written: holders and counts.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "chaos/history.hpp"

namespace conclave::chaos {

class run_status {
 public:
  explicit run_status(std::size_t slots) : slots_(slots) {}

  // A new process in this slot.
  void follow(std::size_t slot, const std::filesystem::path& file);
  // The process in this slot was killed.
  void gone(std::size_t slot);
  void look();
  void look(std::size_t slot);

  bool holds(std::size_t slot) const;
  bool holds_fenced(std::size_t slot) const;  // exclusively, so a later holder gets a higher token
  // The time of its last grant, push, pop or completed claim.
  nanoseconds last_success(std::size_t slot) const { return slots_.at(slot).last_success; }

  std::uint64_t grants() const { return grants_; }
  std::uint64_t local_grants() const { return local_grants_; }
  std::uint64_t hand_offs() const { return hand_offs_; }
  std::uint64_t stale_refused() const { return stale_refused_; }
  std::uint64_t losses() const { return losses_; }
  std::uint64_t delivered() const { return delivered_; }
  // Two processes held a lock exclusively at the same time. Only careless workers do so.
  bool two_holders_seen() const { return two_holders_seen_; }

 private:
  struct place {
    std::unique_ptr<history_reader> reader;
    std::string hold;  // the id; empty if it holds nothing
    std::string path;
    std::string token;
    bool fenced = false;
    nanoseconds until = 0;
    nanoseconds last_success = 0;
  };
  struct suspected_hold {
    std::size_t slot;
    std::string hold;
  };
  void take(std::size_t i, const event& e);

  std::vector<place> slots_;
  std::map<std::string, std::size_t> last_holder_;
  // Holds that had not ended when another process was granted the lock. The end may be in a part of
  // the history that is read later.
  std::vector<suspected_hold> suspected_;
  bool two_holders_seen_ = false;
  std::uint64_t grants_ = 0, local_grants_ = 0, hand_offs_ = 0, stale_refused_ = 0, losses_ = 0,
                delivered_ = 0;
};

}  // namespace conclave::chaos
