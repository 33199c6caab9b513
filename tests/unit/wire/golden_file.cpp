#include "golden_file.hpp"

#include <fstream>
#include <stdexcept>

#include <gtest/gtest.h>

namespace conclave::wire {
namespace {

std::string unhex(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes.push_back(static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16)));
  return bytes;
}

std::map<std::string, std::string, std::less<>> read_golden() {
  std::ifstream in{CONCLAVE_GOLDEN_FILE};
  std::map<std::string, std::string, std::less<>> all;
  std::string name;
  std::string digits;
  while (in >> name >> digits)
    if (!all.emplace(name, unhex(digits)).second) throw std::runtime_error{name + " stands twice"};
  return all;
}

}  // namespace

const std::map<std::string, std::string, std::less<>>& golden() {
  static const auto all = read_golden();
  return all;
}

std::string golden(std::string_view name) {
  const auto found = golden().find(name);
  if (found != golden().end()) return found->second;
  ADD_FAILURE() << "no golden record " << name;
  return {};
}

std::string hex(std::string_view bytes) {
  std::string digits;
  for (const unsigned char c : bytes) {
    digits += "0123456789abcdef"[c >> 4];
    digits += "0123456789abcdef"[c & 15];
  }
  return digits;
}

}  // namespace conclave::wire
