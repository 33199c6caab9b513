#include "four_letter_word.hpp"

#include "loopback_socket.hpp"

namespace conclave::testing {

std::string ask_server(std::uint16_t port, std::string_view word,
                       std::chrono::milliseconds timeout) {
  try {
    auto socket = loopback_socket::connect(port, timeout);
    socket.send(word, timeout);
    return socket.receive_until_end(timeout);
  } catch (const connection_ended&) {
    return {};
  } catch (const timed_out&) {
    return {};
  }
}

std::string server_mode(std::uint16_t port, std::chrono::milliseconds timeout) {
  const std::string answer = ask_server(port, "srvr", timeout);
  const std::string label = "Mode: ";
  const auto start = answer.find(label);
  if (start == std::string::npos) return {};
  const auto end = answer.find('\n', start);
  return answer.substr(start + label.size(), end - start - label.size());
}

}  // namespace conclave::testing
