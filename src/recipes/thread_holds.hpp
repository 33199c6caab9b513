// The locks that each thread of this process has acquired with blocking calls. When a thread waits
// for a lock, the data of the waiter's node lists them (contender_data.hpp).
//
// unlock() does not update this record, because any thread may call it. Holds that have ended are
// skipped.
#pragma once

#include "conclave/hold.hpp"
#include "conclave/task_holds.hpp"

namespace conclave::recipes {

// This thread has acquired the lock.
void add_hold_of_this_thread(const hold& h);
// This thread has acquired a lock that its lock object kept, so the hold is not known.
void add_unknown_hold_of_this_thread() noexcept;
// A hold of this process belongs to a task that is not known: to an asynchronous call, or to a
// guard that may move to another thread.
void add_hold_of_unknown_task() noexcept;
// A thread has released a lock that another thread acquired. From now on, no lock of this process
// certainly belongs to the thread that acquired it.
void note_release_by_other_thread() noexcept;

// Returns what this thread holds. After a fork(), a child process holds nothing.
task_holds holds_of_this_thread();

}  // namespace conclave::recipes
