#include "cli/ui/ui_flags.hpp"

#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <iostream>

#include <boost/asio/ip/address.hpp>
#include <boost/system/system_error.hpp>

#include "cli/connect/private_file.hpp"
#include "cli/exit_code.hpp"
#include "conclave/secret.hpp"

namespace conclave::cli {
namespace {

constexpr std::size_t min_token_length = 16;

[[noreturn]] void refuse_address(const std::string& given) {
  throw failure{usage, "'" + given +
                           "' is not an address to listen on; write a port, or an IP address and a "
                           "port: 127.0.0.1:7711 or [::1]:7711"};
}

// Sets the address and the port. The address must be numeric, because a name may have several.
void read_address(const std::string& given, web::ui_options& to) {
  const auto colon = given.rfind(':');
  auto host = colon == std::string::npos ? std::string{"127.0.0.1"} : given.substr(0, colon);
  const auto port = given.substr(colon == std::string::npos ? 0 : colon + 1);
  if (host == "localhost") host = "127.0.0.1";
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const auto* const end = port.data() + port.size();
  const auto [stop, ec] = std::from_chars(port.data(), end, to.port);
  if (ec != std::errc{} || stop != end) refuse_address(given);
  boost::system::error_code is_not_numeric;
  const auto address = boost::asio::ip::make_address(host, is_not_numeric);
  if (is_not_numeric) refuse_address(given);
  to.address = address.to_string();
}

bool is_loopback(const std::string& address) {
  return boost::asio::ip::make_address(address).is_loopback();
}

// Each connection needs a descriptor, and the soft limit is often 1024.
// Returns the number of descriptors that this process may have.
std::size_t raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  limit.rlim_cur = std::max(limit.rlim_cur, std::min<rlim_t>(limit.rlim_max, 4096));
  ::setrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

std::string read_token(const std::string& file) {
  require_private(file);
  const auto token = secret::from_file(file);
  if (token.reveal().size() < min_token_length)
    throw failure{usage, file + ": the token must have at least " +
                             std::to_string(min_token_length) + " characters"};
  return std::string{token.reveal()};
}

}  // namespace

void add_ui_flags(CLI::App& app, ui_flags& f, const std::string& prefix) {
  app.add_option("--" + prefix + "token-file", f.token_file,
                 "file with the token that users of the page sign in with; without it, a token is "
                 "generated if the page needs one")
      ->type_name("FILE");
  app.add_option("--" + prefix + "host-name", f.host_names,
                 "also answer requests of browsers to this host name, for example that of a proxy")
      ->type_name("NAME");
  app.add_flag("--" + prefix + "allow-actions", f.allow_actions,
               "let users of the page ask holders to release locks; needs a token");
}

web::ui_options read_ui_flags(const ui_flags& f) {
  web::ui_options options;
  read_address(f.listen, options);
  options.host_names = f.host_names;
  options.allow_actions = f.allow_actions;
  if (!f.token_file.empty())
    options.token = read_token(f.token_file);
  else if (!is_loopback(options.address) || f.allow_actions)
    options.token = web::generate_token();
  return options;
}

std::unique_ptr<web::ui> start_ui(client& zk, web::ui_options options, const std::string& given) {
  if (!is_loopback(options.address))
    std::cerr << "conclave: " << given
              << " is not a loopback address, and the page does not use TLS; use a proxy with TLS, "
                 "or an SSH tunnel to a loopback address\n";
  // The session needs descriptors, too.
  const auto descriptors = raise_descriptor_limit();
  options.max_connections =
      std::min(options.max_connections, descriptors - std::min<std::size_t>(descriptors / 2, 64));
  try {
    return std::make_unique<web::ui>(zk, options);
  } catch (const boost::system::system_error& e) {
    throw failure{unavailable, "cannot listen on " + given + ": " + e.code().message() +
                                   "; choose another address"};
  }
}

std::string page_address(const web::ui& page, const web::ui_options& options, const ui_flags& f) {
  auto url = "http://" + page.address() + "/";
  if (!options.token.empty() && f.token_file.empty()) url += "#token=" + options.token;
  return url;
}

}  // namespace conclave::cli
