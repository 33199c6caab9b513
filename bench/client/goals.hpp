// What the client is meant to reach, and whether it did.
#pragma once

#include <string>
#include <vector>

#include "harness/goal.hpp"
#include "series.hpp"

namespace conclave::bench {

namespace series_name {
inline constexpr const char* creates = "pipelined-creates";
inline constexpr const char* gets = "pipelined-gets";
inline constexpr const char* creates_one_core = "pipelined-creates-one-core";
inline constexpr const char* one_core = "blocking-get-one-core";
inline constexpr const char* all_cores = "blocking-get-all-cores";
}  // namespace series_name

struct client_goal {
  goal to_plain;                // against libzookeeper as it comes
  double measured_to_tuned{0};  // against the tuned one, for information
};

// The CPU goal is about pipelined operations of either kind: the worse one counts. The rate of
// creates is judged twice: on all cores, where two cores leave the server the bottleneck of every
// client and rounds differ by a factor of two, and with client and server sharing one core, where
// what a client costs is what the server lacks.
std::vector<client_goal> judge(const std::vector<series>& all);

// "note NAME against libzookeeper-tuned VALUE"
std::string to_note(const client_goal& g);

}  // namespace conclave::bench
