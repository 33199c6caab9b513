// From the requests of Beast to those of this layer, without sockets.
#pragma once

#include <cstdint>
#include <optional>

#include <boost/beast/core/error.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "web/http.hpp"

namespace conclave::web {

using beast_request = boost::beast::http::request<boost::beast::http::string_body>;
using request_parser = boost::beast::http::request_parser<boost::beast::http::string_body>;

struct refusal {
  unsigned status;
  const char* reason;  // the text of the reply
};

// Returns how to refuse a request after it was read or could not be read. Returns nothing if the
// request can be answered, or if the connection failed and no reply is possible.
std::optional<refusal> refusal_of(const boost::beast::error_code& ec, const request_parser& parser);

http_request to_request(const beast_request& r);

}  // namespace conclave::web
