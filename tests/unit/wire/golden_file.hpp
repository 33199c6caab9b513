// The records in golden/golden.txt, encoded by ZooKeeper's own classes.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace conclave::wire {

// All records by name.
const std::map<std::string, std::string, std::less<>>& golden();

// Returns one record. Fails the test if there is none of that name.
std::string golden(std::string_view name);

// For messages of failed tests.
std::string hex(std::string_view bytes);

}  // namespace conclave::wire
