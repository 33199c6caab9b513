#include "measured_ensemble.hpp"

#include <string>

#include "driver/zookeeper.hpp"

namespace conclave::bench {

measured_ensemble::measured_ensemble(bool force_sync, std::optional<int> cpu)
    : servers_(measured_server_options(force_sync)), control_(servers_.connect_string()) {
  control_.create(recipe_rounds::parent);
  if (!cpu) return;
  for (std::size_t i = 0; i < size(); ++i)
    pins_.push_back(std::make_unique<pinned_process>(servers_.server(i).pid(), *cpu));
}

round_servers measured_ensemble::all() { return with(servers_.connect_string()); }

round_servers measured_ensemble::only(std::size_t number) {
  return with(servers_.server(number).connect_string());
}

round_servers measured_ensemble::with(const std::string& connect_string) {
  round_servers result{connect_string, {}, &control_};
  for (std::size_t i = 0; i < size(); ++i) result.servers.push_back(&servers_.server(i));
  return result;
}

}  // namespace conclave::bench
