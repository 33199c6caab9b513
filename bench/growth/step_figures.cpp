#include "step_figures.hpp"

#include <unistd.h>

#include <chrono>
#include <exception>
#include <stdexcept>

#include "bytes_on_wire.hpp"
#include "driver/recipe_worker.hpp"
#include "driver/system_status.hpp"
#include "support/four_letter_word.hpp"

namespace conclave::bench {
// "Received: N" and "Sent: N"
double frames_of(const std::string& servers) {
  const auto status = testing::ask_server(port_of(servers), "srvr", std::chrono::seconds{20});
  double sum = 0;
  for (const std::string name : {"Received: ", "Sent: "}) {
    const auto at = status.find(name);
    if (at == std::string::npos)
      throw std::runtime_error("the server does not report '" + name + "':\n" + status);
    sum += std::stod(status.substr(at + name.size()));
  }
  return sum;
}

std::uint16_t port_of(const std::string& servers) {
  return static_cast<std::uint16_t>(std::stoul(servers.substr(servers.rfind(':') + 1)));
}

void await_all(pipeline& all) {
  try {
    all.wait(step_limit);
  } catch (const std::exception& e) {
    abort_round("step", e.what());
  }
}

meter::meter(const step_task& task) : task_(task), before_(read()) {}

meter::counters meter::read() const {
  const auto frames = frames_of(task_.servers);
  return {cpu_us_of(task_.server), static_cast<double>(bytes_on_wire(port_of(task_.servers))),
          frames};
}

void meter::note_memory() {
  memory_ = {{figure::client_kib, resident_kib_of(::getpid())},
             {figure::server_kib, resident_kib_of(task_.server)}};
}

figures meter::finish() {
  const auto wall = watch_.wall_us() / 1e6;
  const auto client = (watch_.user_us() + watch_.system_us()) / 1e6;
  const auto after = read();
  const auto server = (after.server_cpu_us - before_.server_cpu_us) / 1e6;
  if (memory_.empty()) note_memory();
  figures found{{figure::seconds, wall},
                {figure::cpu_seconds, client + server},
                {figure::client_cpu_seconds, client},
                {figure::server_cpu_seconds, server},
                {figure::bytes, after.bytes - before_.bytes},
                {figure::frames, after.frames - before_.frames}};
  found.merge(memory_);
  return found;
}

}  // namespace conclave::bench
