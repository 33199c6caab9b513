// Prints items of a queue on stdout and reports whether they were written.
#pragma once

#include <string>

#include "conclave/queue.hpp"

namespace CLI {
class App;
}

namespace conclave::cli {

struct item_format {
  bool raw = false, nul = false, json = false;
};

void add_item_format(CLI::App& app, item_format& f);

class item_output {
 public:
  // Throws failure with cannot_write if stdout is closed. Must be created before any file is
  // opened. Otherwise, if stdout is closed, that file would get the descriptor of stdout.
  explicit item_output(const item_format& f);

  // `attempts` is 0 if the number of attempts is unknown.
  void add(const queue_item& item, int attempts);
  // Throws failure with cannot_write unless all items were written.
  void write();

 private:
  item_format format_;
  std::string text_;
};

}  // namespace conclave::cli
