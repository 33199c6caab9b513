// The workers of a run. Each has a slot, which keeps its job and its links when the process in it
// is killed and another one follows.
//
// For one thread, reached() excepted.
#pragma once

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "chaos/history.hpp"
#include "chaos/life.hpp"
#include "chaos/live.hpp"
#include "chaos/options.hpp"
#include "support/child_process.hpp"
#include "support/link_proxy.hpp"

namespace conclave::chaos {

class fleet {
 public:
  fleet(const options& o, const std::vector<std::uint16_t>& server_ports,
        std::filesystem::path store);

  std::size_t size() const { return slots_.size(); }
  const std::vector<life>& lives() const { return lives_; }
  const life& present(std::size_t slot) const { return lives_.at(slots_.at(slot).life); }

  void start(std::size_t slot);
  // Returns when it was, which is before it happened.
  nanoseconds kill(std::size_t slot);
  nanoseconds pause(std::size_t slot);
  void resume(std::size_t slot);
  // SIGTERM to all; what did not end well is a problem.
  void finish(std::chrono::seconds limit);

  std::vector<testing::link_proxy*> links(std::size_t slot) const;
  // The slots that are connected with this server now.
  std::vector<std::size_t> reached(std::size_t server) const;

  // Reads on in all histories, and looks for processes that have ended though nobody killed them.
  void look();
  const live& seen() const { return live_; }
  std::vector<std::string> problems() const { return problems_; }

 private:
  struct place {
    std::string job;
    std::chrono::milliseconds session{0};
    std::string address;
    std::vector<std::unique_ptr<testing::link_proxy>> links;
    std::unique_ptr<testing::child_process> process;
    std::size_t life = 0;
    int lives = 0;
    bool down = false;
  };

  options options_;
  std::filesystem::path store_;
  std::vector<place> slots_;
  std::vector<life> lives_;
  live live_;
  std::vector<std::string> problems_;
};

}  // namespace conclave::chaos
