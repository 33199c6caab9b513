// Which cores a process may run on.
#pragma once

#include <sched.h>
#include <sys/types.h>

namespace conclave::bench {

// The last core this process may use: the first ones tend to serve interrupts.
int last_allowed_cpu();

// Call it before threads are made; they inherit it.
void pin_this_process(int cpu);

// Keeps all threads of another process, and those they make, on one core for as long as this lives.
class pinned_process {
 public:
  pinned_process(pid_t pid, int cpu);
  ~pinned_process();
  pinned_process(const pinned_process&) = delete;
  pinned_process& operator=(const pinned_process&) = delete;

 private:
  pid_t pid_;
  cpu_set_t before_;
};

}  // namespace conclave::bench
