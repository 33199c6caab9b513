// The records in golden/golden.txt: bytes that ZooKeeper's own classes wrote.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace conclave::wire {

// Name to bytes, all of them.
const std::map<std::string, std::string, std::less<>>& golden();

// One record; a test failure and nothing if there is none of that name.
std::string golden(std::string_view name);

// For messages of failed tests.
std::string hex(std::string_view bytes);

}  // namespace conclave::wire
