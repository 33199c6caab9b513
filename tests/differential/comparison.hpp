// Performs the same steps on both servers. After each step, compares all replies, events and closed
// connections.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "differential/operation.hpp"
#include "differential/tested_server.hpp"

namespace conclave::differential {

struct comparison_setup {
  std::uint16_t apache_port = 0;
  std::uint16_t embedded_port = 0;
  std::size_t slots = 4;
  std::uint64_t salt = 0;         // determines the watch modes of the sessions
  std::function<void()> restart;  // restarts both servers with the same ports and data
};

struct difference {
  std::size_t step = 0;
  std::string done;         // the step, as it was sent
  std::string answers;      // of both servers
  bool is_failure = false;  // a server did not answer at all
};

class comparison {
 public:
  explicit comparison(const comparison_setup& setup);

  // Returns the first difference, if any. Compares all nodes at the end and after each restart.
  std::optional<difference> run(const std::vector<step>& steps);

  // Counts of what the steps covered.
  struct figures {
    std::uint64_t operations = 0;
    std::uint64_t events = 0;
    std::map<std::pair<std::string, std::int32_t>, std::uint64_t> results;  // operation, error
    void add(const figures& f);
  };
  figures result() const;

 private:
  template <class F>
  void both(F f) {
    f(apache_);
    f(embedded_);
  }
  operation resolved(operation o) const;
  path_ref resolved(const path_ref& p) const;
  step resolved(step s) const;
  void note_results(const step& done);

  std::optional<difference> take(const step& next, std::size_t index);
  std::optional<difference> compare_all_nodes(std::size_t index);
  void ensure_connected(std::size_t slot);
  void perform(const step& s);
  void let_expire(const step& s);
  std::string compared(const step& s);

  std::size_t slots_;
  std::uint64_t salt_;
  std::function<void()> restart_;
  tested_server apache_;
  tested_server embedded_;
  std::map<std::string, node_stat> known_;  // the last known stat of each existing node
  std::vector<std::string> made_;           // the paths of sequential creations
  figures figures_;
};

}  // namespace conclave::differential
