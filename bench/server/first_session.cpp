#include "first_session.hpp"

#include <chrono>
#include <filesystem>
#include <future>
#include <thread>

#include <conclave/client.hpp>

#include "conclave_server.hpp"
#include "sessions.hpp"
#include "support/four_letter_word.hpp"

namespace conclave::bench {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

figures since(clock::time_point start) {
  return {
      {figure::start_ms, std::chrono::duration<double, std::milli>(clock::now() - start).count()}};
}

}  // namespace

figures start_ours(const std::vector<std::string>& command) {
  const auto start = clock::now();
  const conclave_server server(command, "full");
  client zk(server.connect_string());
  await_connection(zk);
  return since(start);
}

figures start_apache(testing::zookeeper_server& server) {
  std::filesystem::remove_all(server.data_directory());
  const auto start = clock::now();
  auto running = std::async(std::launch::async, [&] { server.start_again(); });
  while (testing::server_mode(server.port(), 20ms).empty()) std::this_thread::sleep_for(1ms);
  client zk(server.connect_string());
  await_connection(zk);
  auto found = since(start);
  running.get();
  zk.close();
  server.kill();
  return found;
}

}  // namespace conclave::bench
