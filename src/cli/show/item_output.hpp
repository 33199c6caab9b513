// Items of a queue on stdout, such that it is known whether they arrived there.
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
  // Throws failure with cannot_write if nothing can be written to stdout. To be made before
  // anything is opened, which would take the place of a stdout that is closed.
  explicit item_output(const item_format& f);

  // attempts: 0 if that is not known.
  void add(const queue_item& item, int attempts);
  // Throws failure with cannot_write unless all of it was written.
  void write();

 private:
  item_format format_;
  std::string text_;
};

}  // namespace conclave::cli
