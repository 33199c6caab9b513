#include "cli/show/contender.hpp"

#include "cli/show/duration.hpp"
#include "cli/show/node.hpp"
#include "cli/show/text.hpp"

namespace conclave::cli {

std::string held_for(const contender_info& holder, std::chrono::system_clock::time_point now) {
  const bool exact = holder.granted && holder.granted->exact();
  const auto earliest = holder.granted ? holder.granted->earliest : holder.since;
  return (exact ? "" : "at most ") + short_time(now - earliest);
}

void add_contender(json::object& to, const contender_info& c) {
  add_session(to, c.session_id);
  add_time(to, "created", c.since);
  if (!c.granted) return;
  if (c.granted->exact()) return add_time(to, "holding_since", c.granted->earliest);
  add_time(to, "holding_since_earliest", c.granted->earliest);
  if (c.granted->latest) add_time(to, "holding_since_latest", *c.granted->latest);
}

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
