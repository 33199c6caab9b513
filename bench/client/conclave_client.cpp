#include <conclave/client.hpp>

#include "client_library.hpp"
#include "driver/pipeline.hpp"
#include "driver/process.hpp"
#include "driver/zookeeper.hpp"

namespace conclave::bench {
namespace {

class conclave_client final : public client_library {
 public:
  explicit conclave_client(const std::string& servers) : client_(servers) {
    await_connection(client_);
  }

  void create(const std::string& path, const std::string& data) override {
    client_.create(path, data);
  }

  void get(const std::string& path) override { client_.get(path); }

  void create_all(std::span<const std::string> paths, const std::string& data,
                  std::size_t window) override {
    run_pipelined(paths.size(), window, time_limit, [&](std::size_t number, auto handler) {
      client_.async_create(paths[number], data, create_mode::persistent, std::move(handler));
    });
  }

  void get_all(const std::string& path, std::size_t count, std::size_t window) override {
    run_pipelined(count, window, time_limit,
                  [&](std::size_t, auto handler) { client_.async_get(path, std::move(handler)); });
  }

 private:
  client client_;
};

}  // namespace

std::unique_ptr<client_library> make_conclave(const std::string& servers) {
  return std::make_unique<conclave_client>(servers);
}

}  // namespace conclave::bench
