// Reads the first item of a queue without removing it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "conclave/queue.hpp"
#include "recipes/queue/names.hpp"
#include "recipes/request.hpp"
#include "recipes/task.hpp"

namespace conclave::recipes {

class glance : public std::enable_shared_from_this<glance> {
 public:
  // `told` is called outside of the session_context::scope.
  using callback = std::function<void(error_code, std::optional<queue_item>)>;
  glance(std::shared_ptr<session_context> p, std::shared_ptr<const queue_names> names,
         callback told)
      : context_{std::move(p)}, names_{std::move(names)}, told_{std::move(told)} {}

  // Called inside a session_context::scope. Pending requests keep the object alive until it is
  // done.
  void start() {
    run_ = run();
    run_.start();
  }

 private:
  task<> run();

  std::shared_ptr<session_context> context_;
  std::shared_ptr<const queue_names> names_;
  callback told_;
  task<> run_;
};

}  // namespace conclave::recipes
