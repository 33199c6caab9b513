// When all workers have ended: what is in the queues is taken out, and nothing else may be left.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "chaos/life.hpp"
#include "conclave/client.hpp"

namespace conclave::chaos {

class aftermath {
 public:
  // `sessions` is how long a killed worker's session may live on.
  aftermath(const std::string& servers, std::filesystem::path histories,
            std::chrono::milliseconds sessions);

  // What the driver took out, as if a worker had.
  const std::vector<life>& lives() const { return lives_; }
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  std::filesystem::path begin_life(const std::string& job);
  void drain(client& zk);
  void look_for_rests(client& zk, std::chrono::milliseconds sessions);

  std::filesystem::path histories_;
  std::vector<life> lives_;
  std::vector<std::string> problems_;
};

// The nodes that the workers use.
void prepare(const std::string& servers);

}  // namespace conclave::chaos
