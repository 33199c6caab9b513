// The whole command line as one tree of flags.
#pragma once

#include <string>

#include "cli/command.hpp"

namespace conclave::cli {

// With the flags of one command only, which takes a tenth of the time; empty: of all.
void describe_program(CLI::App& app, invocation& call, const std::string& only);

}  // namespace conclave::cli
