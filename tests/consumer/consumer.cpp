// The smallest program that needs the headers, both libraries and what they link.
#include <cstdio>

#include <boost/asio/use_future.hpp>

#include <conclave/client.hpp>
#include <conclave/server.hpp>
#include <conclave/version.hpp>

int main() {
  conclave::server server;
  conclave::client zk{server.connect_string()};
  const auto node = zk.create("/a", "hello");
  const auto found = zk.async_get(node.path, boost::asio::use_future).get();
  std::printf("conclave %s: %s\n", conclave::version, found.data.c_str());
  return found.data == "hello" ? 0 : 1;
}
