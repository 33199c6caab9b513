#include "cli/show/candidate.hpp"

#include "cli/show/node.hpp"
#include "cli/show/text.hpp"

namespace conclave::cli {

json::object candidate_json(const contender_info& c) {
  using std::chrono::milliseconds;
  const auto since = std::chrono::duration_cast<milliseconds>(c.since.time_since_epoch());
  return {{"id", is_utf8(c.owner) ? c.owner : std::string{"?"}},
          {"leads", c.holds},
          {"node", c.node},
          {"fencing_token", c.fencing_token},
          {"session_id", c.session_id},
          {"since", iso_date(since.count())}};
}

std::string candidate_name(const contender_info& c) {
  return c.owner.empty() ? "(session " + hex(c.session_id) + ")" : printable(c.owner);
}

}  // namespace conclave::cli
