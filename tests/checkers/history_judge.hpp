// Feeds the checkers from a history in plain text, for programs that are not written in C++.
//
// One event a line, in the order of time; TIME is in nanoseconds, on any clock:
//
//     TIME granted HOLD WHO TOKEN RESOURCE [shared] [permits=N]
//     TIME ended HOLD
//     TIME pushed ITEM done|refused|unclear
//     TIME delivered ITEM
//     TIME perhaps-delivered ITEM
//
// HOLD is a number. It has one `granted` for each resource that it holds, and one `ended`; without
// that, it lasts until the end of the history. A line that begins with # is a comment. The history
// ends when the queue has been emptied. What the events mean: exclusion.hpp, grant_order.hpp and
// queue_account.hpp.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace conclave::checkers {

// The violations, each as "TIME: what". Throws std::runtime_error, which names the line, if a line
// makes no sense or its time is before that of the line above.
std::vector<std::string> judge_history(std::istream& history);

}  // namespace conclave::checkers
