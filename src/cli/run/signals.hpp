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

// SIGXFSZ would terminate this process at a write beyond `ulimit -f`. From now on, the write fails
// with EFBIG instead.
void ignore_file_size_signal();
// Call in a child process before exec, because ignored signals stay ignored. Restores the action
// from before ignore_file_size_signal(). Uses only system calls.
void restore_file_size_signal() noexcept;

// Stops this process on Ctrl-Z, as the kernel would. Has no effect for other signals.
void stop_on_ctrl_z(int signal);

}  // namespace conclave::cli
