// Checks a history in plain text, for programs that are not written in C++.
//
// One event per line, in the order of time. TIME is in nanoseconds on any clock:
//
//     TIME granted HOLD WHO TOKEN RESOURCE [shared] [permits=N]
//     TIME ended HOLD
//     TIME pushed ITEM done|refused|unknown
//     TIME delivered ITEM
//     TIME delivery-unknown ITEM
//
// HOLD is a number. A hold has one `granted` for each resource and one `ended`. Without `ended`, it
// lasts until the end of the history. Lines that begin with # are comments. At the end of the
// history, the queue must be empty. For the meaning of the events see exclusion.hpp,
// grant_order.hpp and queue_account.hpp.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace conclave::checkers {

// Returns the violations as "TIME: TEXT". Throws std::runtime_error, which contains the line, if a
// line is invalid or its time is earlier than that of the previous line.
std::vector<std::string> judge_history(std::istream& history);

}  // namespace conclave::checkers
