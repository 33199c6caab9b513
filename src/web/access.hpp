// Decides which requests are answered: the host name, the token, and the origin of actions.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "web/http.hpp"
#include "web/moment.hpp"

namespace conclave::web {

// Returns 32 random characters from [0-9a-f] per 16 bytes, for tokens and sessions.
std::string random_text(std::size_t bytes);

class access {
 public:
  struct rules {
    std::string token;                    // if empty, no sign-in is needed
    std::vector<std::string> host_names;  // in addition to localhost and numeric addresses
    std::string cookie = "conclave_session";
  };
  explicit access(rules r) : rules_{std::move(r)} {}

  // A page of another site can make its own host name resolve to this server (DNS rebinding) and
  // could then read the replies. Such a request has that name as its host. A numeric address cannot
  // point to a different server, so it is always allowed.
  bool allows_host(const http_request& r) const;
  // Returns false if a browser sends the request for a page of another site.
  static bool is_same_site(const http_request& r);
  // Returns true if the request comes from a page of this server. Browsers set Origin for each
  // POST.
  static bool is_same_origin(const http_request& r);

  bool needs_sign_in() const { return !rules_.token.empty(); }
  // The request has the cookie of a session, or the token in its Authorization field.
  bool is_signed_in(const http_request& r, moment at);
  bool is_token(std::string_view text) const;
  // Starts a session and returns the value of Set-Cookie.
  std::string sign_in(const http_request& r, moment at);
  // Ends the session of the request and returns the value of Set-Cookie.
  std::string sign_out(const http_request& r);

 private:
  struct session {
    std::string id;
    moment expiry;
  };
  static constexpr std::size_t max_sessions = 256;

  const rules rules_;
  std::deque<session> sessions_;  // oldest first
};

}  // namespace conclave::web
