// A hold, from when its holder was told until it ends, written down as it is seen from inside.
//
// While it lasts the holder writes to the store, mostly without asking first whether it still holds
// it: a process that was stopped for longer than its session finds its first write refused. After a
// loss it waits until somebody newer has written, and tries once more.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "chaos/job.hpp"

namespace conclave::chaos {

struct held_thing {
  std::string resource;
  std::string mode = "alone";  // as in a history
  bool fenced = true;          // only one at a time may write to it
  // Called in the middle of the stay, if there is one; afterwards it is held with others.
  std::function<void()> downgrade{};
};

class holding {
 public:
  holding(surroundings& s, conclave::hold h, held_thing what);

  // True if it is still held then: the caller gives it back, at once. Written down is that it did.
  bool stay(std::chrono::milliseconds length);

 private:
  bool look();   // false if it is lost; otherwise until when it lasts
  bool write();  // false if it was refused, for a good reason
  void lost(nanoseconds at);
  void write_too_late();

  surroundings& s_;
  conclave::hold hold_;
  held_thing what_;
  std::string id_;
  std::string token_;
  nanoseconds until_ = 0;
};

}  // namespace conclave::chaos
