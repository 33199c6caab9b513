// The version of the embedded server. It reports a ZooKeeper version followed by its own.
#pragma once

#include <string>
#include <string_view>

namespace conclave::cli {

// "0.1.0" for "3.9.0-conclave-0.1.0". Empty if the server is not the embedded one.
inline std::string conclave_version(std::string_view said) {
  constexpr std::string_view mark = "-conclave-";
  const auto at = said.find(mark);
  return std::string{at == said.npos ? std::string_view{} : said.substr(at + mark.size())};
}

}  // namespace conclave::cli
