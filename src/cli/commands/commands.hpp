// All commands of the program.
#pragma once

#include "cli/command.hpp"

namespace conclave::cli {

void describe_lock(CLI::App& app, invocation& call);
void describe_elect(CLI::App& app, invocation& call);
void describe_leader(CLI::App& app, invocation& call);
void describe_queue(CLI::App& app, invocation& call);
void describe_status(CLI::App& app, invocation& call);
void describe_revoke(CLI::App& app, invocation& call);
void describe_gc(CLI::App& app, invocation& call);
void describe_doctor(CLI::App& app, invocation& call);
void describe_bench(CLI::App& app, invocation& call);
void describe_local(CLI::App& app, invocation& call);
void describe_znode(CLI::App& app, invocation& call);
void describe_serve(CLI::App& app, invocation& call);
void describe_completion(CLI::App& app, invocation& call);
void describe_manual(CLI::App& app, invocation& call);
void describe_help(CLI::App& app, invocation& call);
void describe_version(CLI::App& app, invocation& call);

}  // namespace conclave::cli
