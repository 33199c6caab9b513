#include <array>

#include "convert.hpp"

namespace conclave::testing {
namespace {

class blocking final : public calls {
 public:
  explicit blocking(zhandle_t* zk) : zk_(zk) {}

  reply create(const std::string& path, std::optional<std::string> data, int mode,
               const std::vector<acl_entry>& acl) override {
    reply r;
    r.rc = zoo_create(zk_, path.c_str(), bytes_of(data), length_of(data), acl_list(acl).get(), mode,
                      path_.data(), path_length);
    if (r.rc == ZOK) r.path = path_.data();
    return r;
  }

  reply create2(const std::string& path, std::optional<std::string> data, int mode,
                const std::vector<acl_entry>& acl) override {
    reply r;
    r.rc = zoo_create2(zk_, path.c_str(), bytes_of(data), length_of(data), acl_list(acl).get(),
                       mode, path_.data(), path_length, &r.stat);
    if (r.rc == ZOK) r.path = path_.data();
    return r;
  }

  reply create_ttl(const std::string& path, const std::string& data, int mode,
                   std::int64_t ttl_ms) override {
    reply r;
    r.rc = zoo_create_ttl(zk_, path.c_str(), data.data(), static_cast<int>(data.size()),
                          &ZOO_OPEN_ACL_UNSAFE, mode, ttl_ms, path_.data(), path_length);
    if (r.rc == ZOK) r.path = path_.data();
    return r;
  }

  reply create2_ttl(const std::string& path, const std::string& data, int mode,
                    std::int64_t ttl_ms) override {
    reply r;
    r.rc = zoo_create2_ttl(zk_, path.c_str(), data.data(), static_cast<int>(data.size()),
                           &ZOO_OPEN_ACL_UNSAFE, mode, ttl_ms, path_.data(), path_length, &r.stat);
    if (r.rc == ZOK) r.path = path_.data();
    return r;
  }

  reply remove(const std::string& path, int version) override {
    reply r;
    r.rc = zoo_delete(zk_, path.c_str(), version);
    return r;
  }

  reply exists(const std::string& path, watch* watcher) override {
    reply r;
    r.rc = zoo_wexists(zk_, path.c_str(), function(watcher), watcher, &r.stat);
    return r;
  }
  reply exists_flagged(const std::string& path) override {
    reply r;
    r.rc = zoo_exists(zk_, path.c_str(), 1, &r.stat);
    return r;
  }

  reply get(const std::string& path, watch* watcher) override {
    reply r;
    int length = data_length;
    r.rc = zoo_wget(zk_, path.c_str(), function(watcher), watcher, data_.data(), &length, &r.stat);
    if (r.rc == ZOK) r.data = data_of(data_.data(), length);
    return r;
  }
  reply get_flagged(const std::string& path) override {
    reply r;
    int length = data_length;
    r.rc = zoo_get(zk_, path.c_str(), 1, data_.data(), &length, &r.stat);
    if (r.rc == ZOK) r.data = data_of(data_.data(), length);
    return r;
  }
  reply get_config() override {
    reply r;
    int length = data_length;
    r.rc = zoo_getconfig(zk_, 0, data_.data(), &length, &r.stat);
    if (r.rc == ZOK) r.data = data_of(data_.data(), length);
    return r;
  }

  reply set(const std::string& path, std::optional<std::string> data, int version) override {
    reply r;
    r.rc = zoo_set2(zk_, path.c_str(), bytes_of(data), length_of(data), version, &r.stat);
    return r;
  }

  reply children(const std::string& path, watch* watcher) override {
    reply r;
    String_vector names{};
    r.rc = zoo_wget_children(zk_, path.c_str(), function(watcher), watcher, &names);
    return with_children(r, names);
  }
  reply children_flagged(const std::string& path) override {
    reply r;
    String_vector names{};
    r.rc = zoo_get_children(zk_, path.c_str(), 1, &names);
    return with_children(r, names);
  }
  reply children2(const std::string& path, watch* watcher) override {
    reply r;
    String_vector names{};
    r.rc = zoo_wget_children2(zk_, path.c_str(), function(watcher), watcher, &names, &r.stat);
    return with_children(r, names);
  }

  reply get_acl(const std::string& path) override {
    reply r;
    ACL_vector acl{};
    r.rc = zoo_get_acl(zk_, path.c_str(), &acl, &r.stat);
    if (r.rc != ZOK) return r;
    r.acl = entries_of(acl);
    deallocate_ACL_vector(&acl);
    return r;
  }
  reply set_acl(const std::string& path, const std::vector<acl_entry>& acl, int version) override {
    reply r;
    r.rc = zoo_set_acl(zk_, path.c_str(), version, acl_list(acl).get());
    return r;
  }

  reply multi(const std::vector<op>& ops) override {
    multi_arguments arguments(ops);
    reply r;
    r.rc = zoo_multi(zk_, arguments.count(), arguments.ops(), arguments.results());
    r.results = arguments.taken();
    return r;
  }

  reply remove_watch(const std::string& path, ZooWatcherType type, watch* watcher) override {
    reply r;
    r.rc = zoo_remove_watches(zk_, path.c_str(), type, watch::call, watcher, 0);
    return r;
  }
  reply remove_all_watches(const std::string& path, ZooWatcherType type) override {
    reply r;
    r.rc = zoo_remove_all_watches(zk_, path.c_str(), type, 0);
    return r;
  }

 private:
  static constexpr int path_length = 256;
  static constexpr int data_length = 65536;

  static watcher_fn function(watch* w) { return w == nullptr ? nullptr : watch::call; }

  static reply with_children(reply r, String_vector& names) {
    if (r.rc != ZOK) return r;
    r.children = strings_of(names);
    deallocate_String_vector(&names);
    return r;
  }

  zhandle_t* zk_;
  std::array<char, path_length> path_{};
  std::array<char, data_length> data_{};
};

}  // namespace

std::unique_ptr<calls> blocking_calls(zhandle_t* zk) { return std::make_unique<blocking>(zk); }

}  // namespace conclave::testing
