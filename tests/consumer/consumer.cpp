// The smallest program that needs the headers, the library and what it links.
#include <cstdio>

#include <boost/asio/use_future.hpp>

#include <conclave/client.hpp>
#include <conclave/version.hpp>

int main() {
  conclave::client_options options;
  options.connect_wait = std::chrono::milliseconds{10};
  conclave::client nobody{"127.0.0.1:1", options};
  try {
    nobody.async_get("/", boost::asio::use_future).get();
  } catch (const boost::system::system_error& e) {
    std::printf("conclave %s: %s\n", conclave::version, e.code().message().c_str());
    return e.code() == conclave::errc::not_connected ? 0 : 1;
  }
  return 1;
}
