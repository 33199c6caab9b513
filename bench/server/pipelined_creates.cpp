#include <cstdio>
#include <string>

#include "harness/pipeline.hpp"
#include "node_row.hpp"
#include "sessions.hpp"
#include "time_window.hpp"
#include "workloads.hpp"

namespace conclave::bench {
namespace {

// Creates until the window is over. All on the context's thread, but the constructor.
class creator {
 public:
  creator(client& zk, const node_row& row, time_window& window, pipeline& all)
      : zk_(zk), row_(row), window_(window), all_(all) {
    begin_on_context(zk_, [this] {
      for (std::size_t i = 0; i < in_flight; ++i) create_next();
    });
  }
  creator(const creator&) = delete;
  creator& operator=(const creator&) = delete;

  std::size_t created() const { return next_; }

 private:
  void create_next() {
    zk_.async_create(row_.path(next_++), node_row::data(), create_mode::persistent,
                     [this, begun = time_window::clock::now()](error_code ec, const auto&) {
                       if (ec) std::fprintf(stderr, "a create failed: %s\n", ec.message().c_str());
                       if (!ec && window_.ended(begun))
                         create_next();
                       else
                         all_.completed(!ec);
                     });
  }

  client& zk_;
  const node_row& row_;
  time_window& window_;
  pipeline& all_;
  std::size_t next_{0};
};

}  // namespace

figures run_pipelined_creates(const assignment& a) {
  client zk(a.servers);
  await_connection(zk);
  zk.create(a.root);
  const node_row row(a.root);

  pipeline all(in_flight);
  time_window window(a);
  const creator load(zk, row, window, all);
  all.wait(time_limit);

  row.remove(zk, load.created());
  zk.remove(a.root);
  return window.result();
}

}  // namespace conclave::bench
