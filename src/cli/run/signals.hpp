// The signals that end and stop a program, for those who have taken them over.
#pragma once

#include <signal.h>

#include <array>

namespace conclave::cli {

inline constexpr std::array ending_signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT};
bool ends_us(int signal);

// Under nohup, and behind & in scripts: then it is not ours to take.
bool is_ignored(int signal);

// Ctrl-Z: does what the kernel would have done. Other signals are nothing to it.
void stop_us_by(int signal);

}  // namespace conclave::cli
