#include <thread>

#include "node_row.hpp"
#include "process_status.hpp"
#include "sessions.hpp"
#include "workloads.hpp"

namespace conclave::bench {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t nodes = 10'000;
constexpr auto settling = 1s;  // what the server does after its last answer

}  // namespace

figures run_crowd(const assignment& a) {
  context shared;
  const auto sessions = open_sessions(shared, a.servers, a.sessions);
  auto& first = *sessions.front();
  first.create(a.root);
  const node_row row(a.root);
  row.create(first, nodes);
  std::this_thread::sleep_for(settling);
  for (const auto& zk : sessions) zk->exists(a.root);  // throws if one of them was lost
  return {{figure::resident_kib, resident_kib_of(a.server)}};
}

}  // namespace conclave::bench
