// Records a hold in the history, from the reported grant to its end, as its holder sees it.
//
// During the hold, the holder writes to the store, mostly without checking first whether it still
// holds the lock. So the first write after a stop beyond the session timeout is refused. After a
// loss, it waits until a newer holder has written, and then makes a stale write.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "chaos/job.hpp"

namespace conclave::chaos {

struct held_resource {
  std::string resource;
  std::string mode = "exclusive";  // as in a history
  bool fenced = true;              // has a single holder, which writes to the store
  // If not empty, called in the middle of the hold. The hold is shared afterwards.
  std::function<void()> downgrade{};
};

class recorded_hold {
 public:
  recorded_hold(worker_context& s, conclave::hold h, held_resource what);

  // Returns true if the lock is still held after this time. The release is recorded already, so the
  // caller must release at once.
  bool stay(std::chrono::milliseconds length);

 private:
  bool look();   // records the deadline; false if the hold is lost
  bool write();  // false if the store refused the write of a lost hold
  void lost(nanoseconds at);
  void write_too_late();

  worker_context& s_;
  conclave::hold hold_;
  held_resource what_;
  std::string id_;
  std::string token_;
  nanoseconds until_ = 0;
};

}  // namespace conclave::chaos
