// Reads the first item of a queue without removing it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "conclave/queue_item.hpp"
#include "recipes/queue/names.hpp"
#include "recipes/request.hpp"
#include "recipes/task.hpp"

namespace conclave::recipes {

class front_reader : public std::enable_shared_from_this<front_reader> {
 public:
  // Called outside of the session_context::scope. If it receives neither an error nor an item, the
  // queue is empty.
  using callback = std::function<void(error_code, std::optional<queue_item>)>;
  front_reader(std::shared_ptr<session_context> context, std::shared_ptr<const queue_names> names,
               callback completed)
      : context_{std::move(context)}, names_{std::move(names)}, completed_{std::move(completed)} {}

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
  callback completed_;
  task<> run_;
};

}  // namespace conclave::recipes
