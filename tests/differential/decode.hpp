// Decodes replies and events into text that is the same for both servers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "conclave/node.hpp"
#include "differential/numbering.hpp"
#include "differential/operation.hpp"

namespace conclave::differential {

struct decoded_reply {
  std::string words;  // the fields, one per line
  std::int32_t error = 0;
  std::int32_t part_error = 0;  // of the failed part of a transaction
  // Information for later steps.
  std::vector<std::pair<std::string, node_stat>> stats;
  std::vector<std::string> created;
  std::vector<std::string> removed;
  std::vector<std::string> sequential;
};

decoded_reply decode_reply(const operation& asked, std::string_view frame, numbering& numbers);
std::string decode_event(std::string_view frame);

}  // namespace conclave::differential
