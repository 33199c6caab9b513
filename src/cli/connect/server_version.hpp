// The version of the embedded server. The server reports a ZooKeeper version followed by its own
// version.
#pragma once

#include <string>
#include <string_view>

namespace conclave::cli {

// Returns "0.1.0" for "3.9.0-conclave-0.1.0". Returns an empty string for a server that is not the
// embedded server.
inline std::string conclave_version(std::string_view said) {
  constexpr std::string_view mark = "-conclave-";
  const auto at = said.find(mark);
  return std::string{at == said.npos ? std::string_view{} : said.substr(at + mark.size())};
}

}  // namespace conclave::cli
