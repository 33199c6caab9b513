// Requests and replies of the HTTP server, without its sockets.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace conclave::web {

// A text that is stored once and that several connections may send at the same time.
using shared_text = std::shared_ptr<const std::string>;

inline shared_text share(std::string text) {
  return std::make_shared<const std::string>(std::move(text));
}

struct http_request {
  std::string method;
  std::string path;   // the target up to the `?`, not decoded
  std::string query;  // the target after the `?`, not decoded
  std::string host, origin, fetch_site, cookie, authorization, content_type;
  std::string body;
};

struct http_response {
  unsigned status = 200;
  std::string content_type = "text/plain; charset=utf-8";
  shared_text body;
  std::vector<std::pair<std::string, std::string>> headers;  // in addition to the security headers
  bool delayed = false;  // sent only after a second, so that guessing a token is slow
};

// Produces the events of one stream. Used only on the server's thread.
class event_source {
 public:
  virtual ~event_source() = default;
  // Returns everything that is new since the last call, as the text of one or more events. Returns
  // nullptr if nothing is new. It is called only when the client has received the previous events.
  // So a slow client skips states, and the server keeps at most one text for it.
  virtual shared_text next() = 0;
  // Returns true if the stream must end, for example because the user has signed out.
  virtual bool has_ended() { return false; }
};

struct http_reply {
  http_response response;
  std::unique_ptr<event_source> events;  // if set, the reply is an event stream
};

// Returns the decoded value of a parameter, or an empty string if the query does not have it.
std::string query_value(std::string_view query, std::string_view name);
// Returns the value of a cookie, or an empty string.
std::string_view cookie_value(std::string_view cookies, std::string_view name);

}  // namespace conclave::web
