// Flags and helpers for all queue commands.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "cli/command.hpp"
#include "cli/connect/connection.hpp"
#include "conclave/queue.hpp"

namespace conclave::cli {

struct queue_flags {
  connect_flags connect;
  std::string path, layout = "zookeeper";

  std::string node() const { return node_path(path); }
  queue_options options() const;
};

void add_queue_flags(CLI::App& app, queue_flags& f);

// If the nodes of the path have a different layout, throws a failure that names that layout.
void require_layout(client& zk, const queue_flags& f);

// Runs call(). If call() fails with errc::layout_mismatch, throws the failure of require_layout()
// instead.
template <class Call>
auto explain_layout(client& zk, const queue_flags& f, Call call) {
  try {
    return call();
  } catch (const error& e) {
    if (e.code() == errc::layout_mismatch) require_layout(zk, f);
    throw;
  }
}

// `text` is a number of seconds, a time with a unit, or "forever". Returns nullopt for "forever".
std::optional<std::chrono::milliseconds> parse_wait(const std::string& text);

// Defined in push.cpp, pop.cpp (pop and peek), ls.cpp (ls, len, restore and discard) and work.cpp.
void describe_push(CLI::App& app, invocation& call);
void describe_pop(CLI::App& app, invocation& call);
void describe_peek(CLI::App& app, invocation& call);
void describe_len(CLI::App& app, invocation& call);
void describe_ls(CLI::App& app, invocation& call);
void describe_work(CLI::App& app, invocation& call);
void describe_restore(CLI::App& app, invocation& call);
void describe_discard(CLI::App& app, invocation& call);

}  // namespace conclave::cli
