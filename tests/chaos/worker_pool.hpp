// The worker processes of a run. Each has a slot with a job and its proxies. A killed process is
// replaced by another one in the same slot.
//
// For one thread, except connected_to().
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "chaos/history.hpp"
#include "chaos/options.hpp"
#include "chaos/process_record.hpp"
#include "chaos/run_status.hpp"
#include "support/child_process.hpp"
#include "support/link_proxy.hpp"

namespace conclave::chaos {

class worker_pool {
 public:
  worker_pool(const options& o, const std::vector<std::uint16_t>& server_ports,
              std::filesystem::path store);

  std::size_t size() const { return slots_.size(); }
  const std::vector<process_record>& processes() const { return processes_; }
  const process_record& present(std::size_t slot) const {
    return processes_.at(slots_.at(slot).current);
  }

  void start(std::size_t slot);
  // Return a time shortly before the signal.
  nanoseconds kill(std::size_t slot);
  nanoseconds pause(std::size_t slot);
  void resume(std::size_t slot);
  // Sends SIGTERM to all. A process that does not exit cleanly is reported in problems().
  void finish(std::chrono::seconds limit);

  std::vector<testing::link_proxy*> links(std::size_t slot) const;
  // The slots that are now connected to this server.
  std::vector<std::size_t> connected_to(std::size_t server) const;

  // Reads the new events of all histories and detects processes that ended by themselves.
  void look();
  const run_status& status() const { return status_; }
  std::vector<std::string> problems() const { return problems_; }

 private:
  struct place {
    std::string job;
    std::chrono::milliseconds session{0};
    std::string address;
    std::vector<std::unique_ptr<testing::link_proxy>> links;
    std::unique_ptr<testing::child_process> process;
    std::size_t current = 0;  // the index in processes_
    int started = 0;
    bool down = false;
  };

  options options_;
  std::filesystem::path store_;
  std::vector<place> slots_;
  std::vector<process_record> processes_;
  run_status status_;
  std::vector<std::string> problems_;
};

}  // namespace conclave::chaos
