// Our own server calls itself a ZooKeeper, and then by its name.
#pragma once

#include <string>
#include <string_view>

namespace conclave::cli {

// "0.1.0" of "3.9.0-conclave-0.1.0"; empty if it is not our own server that says it.
inline std::string conclave_version(std::string_view said) {
  constexpr std::string_view mark = "-conclave-";
  const auto at = said.find(mark);
  return std::string{at == said.npos ? std::string_view{} : said.substr(at + mark.size())};
}

}  // namespace conclave::cli
