// Tells a person at a terminal what is going on; without a terminal, one line per step.
#pragma once

#include <cstddef>
#include <string>

namespace conclave::bench {

class progress_display {
 public:
  progress_display();
  ~progress_display();
  progress_display(const progress_display&) = delete;
  progress_display& operator=(const progress_display&) = delete;

  void step(const std::string& name, std::size_t rounds);
  void round_done(const std::string& who);

 private:
  void show(const std::string& text) const;

  bool terminal_;
  std::string name_;
  std::size_t rounds_{0};
  std::size_t done_{0};
};

}  // namespace conclave::bench
