// While this object lives, requests are collected. They are sent in one write when it is destroyed.
#pragma once

#include "recipes/session_context.hpp"

namespace conclave::recipes {

class [[nodiscard]] single_write {
 public:
  explicit single_write(session_context& p) : context_{p} { context_.cork(); }
  ~single_write() { context_.uncork(); }
  single_write(const single_write&) = delete;
  single_write& operator=(const single_write&) = delete;

 private:
  session_context& context_;
};

}  // namespace conclave::recipes
