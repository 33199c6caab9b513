// The names of states and events in logs.

#include "conclave/session_event.hpp"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace conclave {
namespace {

TEST(names, states_and_events_have_names) {
  using kind = session_event::kind;
  std::set<std::string> names;
  for (const auto s :
       {session_state::connecting, session_state::connected, session_state::suspended,
        session_state::expired, session_state::closed, session_state::authentication_failed})
    EXPECT_TRUE(names.insert(to_string(s)).second);
  names.clear();
  for (const auto k : {kind::connected, kind::suspended, kind::reconnected, kind::expired,
                       kind::closed, kind::authentication_failed})
    EXPECT_TRUE(names.insert(to_string(k)).second);
  EXPECT_FALSE(names.contains("unknown"));
  EXPECT_STREQ(to_string(static_cast<session_state>(99)), "unknown");
}

}  // namespace
}  // namespace conclave
