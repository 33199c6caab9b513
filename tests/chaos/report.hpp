// The report of a run, as Markdown and as JSON.
#pragma once

#include <string>

#include "chaos/judge.hpp"

namespace conclave::chaos {

std::string markdown(const run_record& run, const verdict& v);
std::string json(const run_record& run, const verdict& v);

// Describes the processors, the memory and the operating system.
std::string this_machine();

}  // namespace conclave::chaos
