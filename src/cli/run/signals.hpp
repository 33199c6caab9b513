// Helpers for code that handles the signals that terminate or stop a program.
#pragma once

#include <signal.h>

#include <array>

namespace conclave::cli {

inline constexpr std::array ending_signals{SIGINT, SIGTERM, SIGHUP, SIGQUIT};
bool is_ending_signal(int signal);

// Returns true if the process ignores this signal, as under nohup and in background commands of
// scripts. Ignored signals must stay ignored.
bool is_ignored(int signal);

// Stops this process on Ctrl-Z, as the kernel would. Has no effect for other signals.
void stop_on_ctrl_z(int signal);

}  // namespace conclave::cli
