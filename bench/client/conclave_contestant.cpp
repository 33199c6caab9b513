#include <stdexcept>

#include <conclave/client.hpp>

#include "contestant.hpp"
#include "harness/pipeline.hpp"

namespace conclave::bench {
namespace {

class conclave_contestant final : public contestant {
 public:
  explicit conclave_contestant(const std::string& servers) : client_(servers) {
    if (!client_.wait_connected(time_limit)) throw std::runtime_error("conclave: no connection");
  }

  void create(const std::string& path, const std::string& data) override {
    client_.create(path, data);
  }

  void get(const std::string& path) override { client_.get(path); }

  void create_all(std::span<const std::string> paths, const std::string& data,
                  std::size_t window) override {
    pipeline progress(paths.size());
    for (std::size_t i = 0; i < window; ++i) create_next(progress, paths, data);
    progress.wait(time_limit);
  }

  void get_all(const std::string& path, std::size_t count, std::size_t window) override {
    pipeline progress(count);
    for (std::size_t i = 0; i < window; ++i) get_next(progress, path);
    progress.wait(time_limit);
  }

 private:
  void create_next(pipeline& progress, std::span<const std::string> paths,
                   const std::string& data) {
    const auto number = progress.next();
    if (!number) return;
    client_.async_create(paths[*number], data, create_mode::persistent,
                         [this, &progress, paths, &data](error_code ec, const create_result&) {
                           create_next(progress, paths, data);
                           progress.completed(!ec);
                         });
  }

  void get_next(pipeline& progress, const std::string& path) {
    if (!progress.next()) return;
    client_.async_get(path, [this, &progress, &path](error_code ec, const get_result&) {
      get_next(progress, path);
      progress.completed(!ec);
    });
  }

  client client_;
};

}  // namespace

std::unique_ptr<contestant> make_conclave(const std::string& servers) {
  return std::make_unique<conclave_contestant>(servers);
}

std::unique_ptr<contestant> make_contestant(std::string_view name, const std::string& servers) {
  if (name == conclave_name) return make_conclave(servers);
  if (name == libzookeeper_name) return make_libzookeeper(servers, name_resolution::by_default);
  if (name == tuned_libzookeeper_name)
    return make_libzookeeper(servers, name_resolution::on_connecting_only);
  throw std::runtime_error("no contestant '" + std::string(name) + "'");
}

}  // namespace conclave::bench
