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

// Throws failure if a queue that seems empty has items of another layout.
void expect_layout(client& zk, const queue_flags& f);

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

}  // namespace conclave::cli
