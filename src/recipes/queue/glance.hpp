// A look at the first item of a queue.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "conclave/queue.hpp"
#include "recipes/asking.hpp"
#include "recipes/queue/names.hpp"
#include "recipes/task.hpp"

namespace conclave::recipes {

class glance : public std::enable_shared_from_this<glance> {
 public:
  // `told` is called outside of the entry.
  using callback = std::function<void(error_code, std::optional<queue_item>)>;
  glance(std::shared_ptr<port> p, std::shared_ptr<const queue_names> names, callback told)
      : port_{std::move(p)}, names_{std::move(names)}, told_{std::move(told)} {}

  // Inside an entry. Its requests keep it until it is over.
  void start() {
    run_ = run();
    run_.start();
  }

 private:
  task<> run();

  std::shared_ptr<port> port_;
  std::shared_ptr<const queue_names> names_;
  callback told_;
  task<> run_;
};

}  // namespace conclave::recipes
