// The data of a contender's node: who it is, for people; and an id, by which a contender finds its
// node when the reply to its creation was lost.
#pragma once

#include <string>
#include <string_view>

namespace conclave::recipes {

// "OWNER\nid HEX". The owner is what other libraries' tools show.
std::string format_contender_data(std::string_view owner, std::string_view id);

struct contender_data {
  std::string owner;
  std::string id;                 // empty: not one of ours
  bool asked_to_release = false;  // somebody has written a request into the node
};
contender_data parse_contender_data(std::string_view data);

// The node's data with a request to release. Of ours it stands behind the id, "\n__REVOKE__". Other
// libraries compare all of the data with Curator's word, so the word replaces what they wrote.
std::string ask_to_release(std::string_view data);

}  // namespace conclave::recipes
