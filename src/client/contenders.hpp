// The functions of conclave/contenders.hpp for callers that have a client_core but no client.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/core.hpp"
#include "conclave/contenders.hpp"

namespace conclave::client_impl {

// Lists the children of a node. client_options::max_reply_bytes does not limit the reply.
void start_listing(const core_pointer& core, receiver<children_result> to, std::string path);

// Returns an empty list if the node does not exist.
std::vector<std::string> children_of(const core_pointer& core, const std::string& path);

std::vector<contender_info> contenders(const core_pointer& core, const std::string& path,
                                       const layout& names);
// Like contenders() above, but `parse` recognises the names, which may belong to several layouts.
using name_parser = std::function<std::optional<layout::contender>(std::string_view)>;
std::vector<contender_info> contenders(const core_pointer& core, const std::string& path,
                                       const layout& names, const name_parser& parse);

}  // namespace conclave::client_impl
