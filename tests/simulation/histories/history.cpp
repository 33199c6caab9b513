#include "simulation/histories/history.hpp"

#include "simulation/histories/deadlock_history.hpp"
#include "simulation/histories/lock_history.hpp"
#include "simulation/histories/queue_history.hpp"
#include "simulation/world/sqlite_storage.hpp"

namespace conclave::simulated {

using namespace std::chrono_literals;

world_options any_world(random_choices& l, const history_options& o) {
  world_options w;
  w.seed = l.number();
  w.clients = 2 + l.draw(3);
  w.session_timeout = l.chance(4) ? 30s : l.chance(2) ? 4s : 1500ms;
  w.server.min_session_timeout = 1s;
  w.server.tick = l.chance(2) ? 2s : 100ms;
  w.connect_wait = !o.impatient() ? 10min : o.seed % 16 == 0 ? 30ms : 400ms;
  w.least_delay = 100us;
  w.most_delay = l.chance(2) ? 200us : 20ms;
  w.server_addresses = 1 + l.draw(3);
  // A hold ends a tenth of the session timeout early. So the clocks may differ by less than a
  // tenth.
  if (l.chance(2)) w.drift = 90;
  if (o.sqlite) w.disk = [seed = l.number()] { return std::make_unique<sqlite_storage>(seed); };
  return w;
}

const std::vector<workload>& workloads() {
  static const std::vector<workload> all = [] {
    auto list = lock_workloads();
    list.push_back(deadlock_workload());
    for (auto& w : queue_workloads()) list.push_back(std::move(w));
    return list;
  }();
  return all;
}

}  // namespace conclave::simulated
