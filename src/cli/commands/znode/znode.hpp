// The commands of `conclave znode`. Each command has a file in this folder.
#pragma once

#include "cli/command.hpp"
#include "cli/connect/connect_flags.hpp"

namespace conclave::cli::znode {

// The flags that all these commands have.
struct common_flags {
  connect_flags connect;
  std::string path;
  bool json = false;

  std::string node() const { return node_path(path); }
};

// Adds PATH and the server options. PATH is optional if f.path already has a value.
void add_common_flags(CLI::App& app, common_flags& f);
void add_json_flag(CLI::App& app, common_flags& f, const char* what = "one line of JSON");

void describe_ls(CLI::App& app, invocation& call);
void describe_tree(CLI::App& app, invocation& call);
void describe_get(CLI::App& app, invocation& call);
void describe_set(CLI::App& app, invocation& call);
void describe_create(CLI::App& app, invocation& call);
void describe_rm(CLI::App& app, invocation& call);
void describe_stat(CLI::App& app, invocation& call);
void describe_watch(CLI::App& app, invocation& call);
void describe_acl(CLI::App& app, invocation& call);

}  // namespace conclave::cli::znode
