// Both servers go through the same steps, and every reply, event and end of a connection is
// compared before the next step.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "differential/operation.hpp"
#include "differential/side.hpp"

namespace conclave::differential {

struct duel_setup {
  std::uint16_t apache_port = 0;
  std::uint16_t embedded_port = 0;
  std::size_t slots = 4;
  std::uint64_t salt = 0;         // of what the sessions watch in which way
  std::function<void()> restart;  // both servers, on the same ports with the same data
};

struct difference {
  std::size_t step = 0;
  std::string done;         // what was done, as it was sent
  std::string answers;      // of both
  bool is_failure = false;  // a server did not answer at all
};

class duel {
 public:
  explicit duel(const duel_setup& setup);

  // Until the first difference, if there is one. At the end, and after a restart, all nodes are
  // looked at.
  std::optional<difference> run(const std::vector<step>& steps);

  // Shows afterwards what the steps have reached.
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
  void learn(const step& done);

  std::optional<difference> take(const step& next, std::size_t index);
  std::optional<difference> look_at_everything(std::size_t index);
  void be_connected(std::size_t slot);
  void perform(const step& s);
  void let_expire(const step& s);
  std::string compared(const step& s);

  std::size_t slots_;
  std::uint64_t salt_;
  std::function<void()> restart_;
  side apache_;
  side embedded_;
  std::map<std::string, node_stat> known_;  // what is told of nodes that are there, as last seen
  std::vector<std::string> made_;           // by sequential creations
  figures figures_;
};

}  // namespace conclave::differential
