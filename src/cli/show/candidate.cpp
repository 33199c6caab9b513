#include "cli/show/candidate.hpp"

#include "cli/show/contender.hpp"
#include "cli/show/node.hpp"
#include "cli/show/text.hpp"

namespace conclave::cli {

json::object candidate_json(const contender_info& c) {
  json::object o{
      {"id", is_utf8(c.owner) ? c.owner : std::string{"?"}}, {"leads", c.holds}, {"node", c.node}};
  add_number(o, "fencing_token", c.fencing_token);
  add_contender(o, c);
  return o;
}

std::string candidate_name(const contender_info& c) {
  return c.owner.empty() ? "(session " + hex(c.session_id) + ")" : printable(c.owner);
}

}  // namespace conclave::cli
