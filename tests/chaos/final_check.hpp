// The check after all workers have ended: empties the queues and verifies that no other node is
// left.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "chaos/process_record.hpp"
#include "conclave/client.hpp"

namespace conclave::chaos {

class final_check {
 public:
  // `sessions` is the longest session timeout of a killed worker.
  final_check(const std::string& servers, std::filesystem::path histories,
              std::chrono::milliseconds sessions);

  // The items that the check removed, recorded as those of workers.
  const std::vector<process_record>& processes() const { return processes_; }
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  std::filesystem::path add_process(const std::string& job);
  void drain(client& zk);
  void find_leftovers(client& zk, std::chrono::milliseconds sessions);

  std::filesystem::path histories_;
  std::vector<process_record> processes_;
  std::vector<std::string> problems_;
};

// Creates the nodes that the workers use.
void prepare(const std::string& servers);

}  // namespace conclave::chaos
