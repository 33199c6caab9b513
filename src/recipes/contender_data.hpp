// The data of a contender's node: an owner, which people can read, and an id. The id lets a
// contender find its node if the reply to the creation was lost.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "conclave/contender_info.hpp"
#include "conclave/node.hpp"

namespace conclave::recipes {

// The format is "OWNER\nid HEX", and a line that starts with "holds" if `wait` is not empty. Tools
// of other libraries show the owner. Earlier versions of this library ignore the lines after the
// id.
std::string format_contender_data(std::string_view owner, std::string_view id,
                                  std::string_view wait = {});

// Formats the line that starts with "holds". Its words are:
// - HEX: the id of a lock that the task holds. HEX? is a lock that the task may hold.
// - others: the task may hold other locks of the session
// - limited: the wait can end without a grant: it has a time limit, or can be stopped
// - permits=N: the number of permits that the semaphore must have
//
// Ids that are not valid, or too many ids, are replaced by `others`.
std::string format_wait(const wait_info& w);
// The greatest number of ids in the line.
inline constexpr std::size_t most_listed_holds = 32;
// Returns nullopt if the line contains an unknown word, because a later version may have given the
// line a different meaning.
std::optional<wait_info> parse_wait(std::string_view line);

struct contender_data {
  std::string owner;
  std::string id;  // empty if the node was not created by Conclave or its data was overwritten
  bool asked_to_release = false;  // a client has written a request to release into the node
  std::optional<wait_info> wait;
};
contender_data parse_contender_data(std::string_view data);

// Sets the members of a contender_info that come from the contender's node.
void set_node_info(contender_info& info, std::string_view data, const node_stat& stat);

// Adds a request to release the lock to `data`, and returns the result. If the data contains an id,
// the request is appended as "\n__REVOKE__". Other libraries compare the whole data with
// "__REVOKE__", so in their nodes the request replaces the data.
std::string ask_to_release(std::string_view data);

}  // namespace conclave::recipes
