// What every command on a queue needs.
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
  // Where the marks of claims are: docs/queue.md.
  std::string taken() const;
};

void add_queue_flags(CLI::App& app, queue_flags& f);

// Throws failure that names the layout, if what is there is not of ours.
void expect_layout(client& zk, const queue_flags& f);

// call(), with that failure instead of errc::layout_mismatch.
template <class Call>
auto with_layout(client& zk, const queue_flags& f, Call call) {
  try {
    return call();
  } catch (const error& e) {
    if (e.code() == errc::layout_mismatch) expect_layout(zk, f);
    throw;
  }
}

// SECONDS or a time, or forever (nothing).
std::optional<std::chrono::milliseconds> parse_wait(const std::string& text);

// The sub-commands, each in a file of its name.
void describe_push(CLI::App& app, invocation& call);
void describe_pop(CLI::App& app, invocation& call);
void describe_peek(CLI::App& app, invocation& call);
void describe_len(CLI::App& app, invocation& call);
void describe_ls(CLI::App& app, invocation& call);
void describe_work(CLI::App& app, invocation& call);
void describe_restore(CLI::App& app, invocation& call);
void describe_discard(CLI::App& app, invocation& call);

}  // namespace conclave::cli
