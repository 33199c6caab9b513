// What a run has shown, for people and for programs.
#pragma once

#include <string>

#include "chaos/judge.hpp"

namespace conclave::chaos {

std::string markdown(const run_record& run, const verdict& v);
std::string json(const run_record& run, const verdict& v);

// The processors, the memory and the system.
std::string this_machine();

}  // namespace conclave::chaos
