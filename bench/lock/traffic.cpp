#include "traffic.hpp"

namespace conclave::bench {

traffic::traffic(const testing::link_proxy& proxy)
    : requests(static_cast<double>(proxy.client_frames())),
      replies(static_cast<double>(proxy.server_frames())),
      events(static_cast<double>(proxy.events())),
      bytes_to_server(static_cast<double>(proxy.bytes_to_server())),
      bytes_to_client(static_cast<double>(proxy.bytes_to_client())) {}

figures traffic::since(const traffic& earlier, double operations) const {
  const auto each = [operations](double now, double before) { return (now - before) / operations; };
  figures result{{figure::requests, each(requests, earlier.requests)},
                 {figure::replies, each(replies, earlier.replies)},
                 {figure::events, each(events, earlier.events)},
                 {figure::bytes_to_server, each(bytes_to_server, earlier.bytes_to_server)},
                 {figure::bytes_to_client, each(bytes_to_client, earlier.bytes_to_client)}};
  result[figure::frames] = result[figure::requests] + result[figure::replies];
  result[figure::bytes] = result[figure::bytes_to_server] + result[figure::bytes_to_client];
  return result;
}

}  // namespace conclave::bench
