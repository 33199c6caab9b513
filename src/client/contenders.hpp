// As conclave/contenders.hpp, for those who have no client object.
#pragma once

#include <string>
#include <vector>

#include "client/core.hpp"
#include "conclave/contenders.hpp"

namespace conclave::detail {

// The children of a node, however many there are: client_options::max_reply_bytes does not count.
void start_listing(const core_pointer& core, receiver<children_result> to, std::string path);

// None if there is no such node.
std::vector<std::string> children_of(const core_pointer& core, const std::string& path);

std::vector<contender_info> contenders(const core_pointer& core, const std::string& path,
                                       const layout& names);

}  // namespace conclave::detail
