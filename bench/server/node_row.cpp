#include "node_row.hpp"

#include "assignment.hpp"
#include "harness/pipeline.hpp"

namespace conclave::bench {
namespace {

template <class Start>
void start_next(pipeline& all, const Start& start) {
  const auto number = all.next();
  if (!number) return;
  start(*number, [&all, &start](error_code ec, const auto&...) {
    start_next(all, start);
    all.completed(!ec);
  });
}

// start(number, handler)
template <class Start>
void pipelined(std::size_t count, const Start& start) {
  pipeline all(count);
  for (std::size_t i = 0; i < in_flight; ++i) start_next(all, start);
  all.wait(time_limit);
}

}  // namespace

void node_row::create(client& zk, std::size_t count) const {
  pipelined(count, [&](std::size_t number, auto handler) {
    zk.async_create(path(number), data(), create_mode::persistent, std::move(handler));
  });
}

void node_row::remove(client& zk, std::size_t count) const {
  pipelined(count, [&](std::size_t number, auto handler) {
    zk.async_remove(path(number), any_version, std::move(handler));
  });
}

}  // namespace conclave::bench
