#include "web/http_parsing.hpp"

#include <string>

namespace conclave::web {

namespace http = boost::beast::http;

std::optional<refusal> refusal_of(const boost::beast::error_code& ec,
                                  const request_parser& parser) {
  if (ec == http::error::header_limit || ec == http::error::buffer_overflow)
    return refusal{431, "the header of the request is too large\n"};
  if (ec == http::error::body_limit) return refusal{413, "the body of the request is too large\n"};
  const bool is_malformed = ec.category() == make_error_code(http::error::bad_target).category();
  if (is_malformed && ec != http::error::end_of_stream && parser.got_some())
    return refusal{400, "the request is malformed\n"};
  // Without a known length, what follows could be taken for the next request.
  if (!ec && parser.get().count(http::field::transfer_encoding) != 0 && !parser.chunked())
    return refusal{501, "the transfer encoding is not supported\n"};
  return {};
}

http_request to_request(const beast_request& r) {
  const auto field = [&](auto name) { return std::string{r[name]}; };
  http_request to;
  to.method = std::string{r.method_string()};
  const std::string target{r.target()};
  const auto query = target.find('?');
  to.path = target.substr(0, query);
  if (query != std::string::npos) to.query = target.substr(query + 1);
  // Two Host fields could mean different hosts to a proxy and to this server.
  to.host = r.count(http::field::host) == 1 ? field(http::field::host) : std::string{};
  to.origin = field(http::field::origin);
  to.fetch_site = field("Sec-Fetch-Site");
  to.cookie = field(http::field::cookie);
  to.authorization = field(http::field::authorization);
  to.content_type = field(http::field::content_type);
  to.body = r.body();
  return to;
}

}  // namespace conclave::web
