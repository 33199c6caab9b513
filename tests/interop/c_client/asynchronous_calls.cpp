#include <future>

#include "convert.hpp"

namespace conclave::testing {
namespace {

// The result of a completion. It must live until the completion is called, so a call waits without
// a limit. The library completes every call, if necessary with ZOPERATIONTIMEOUT.
class pending {
 public:
  reply r;

  // `rc` is the library's result for sending the request. If it is not ZOK, no completion follows.
  reply after(int rc) {
    if (rc != ZOK) {
      r.rc = rc;
      return r;
    }
    done_.get_future().wait();
    return r;
  }
  void finish(int rc) {
    r.rc = rc;
    done_.set_value();
  }

 private:
  std::promise<void> done_;
};

pending& of(const void* data) { return *static_cast<pending*>(const_cast<void*>(data)); }

void on_nothing(int rc, const void* p) { of(p).finish(rc); }
void on_string(int rc, const char* path, const void* p) {
  if (rc == ZOK) of(p).r.path = path;
  of(p).finish(rc);
}
void on_string_stat(int rc, const char* path, const Stat* stat, const void* p) {
  if (rc == ZOK) {
    of(p).r.path = path;
    of(p).r.stat = *stat;
  }
  of(p).finish(rc);
}
void on_stat(int rc, const Stat* stat, const void* p) {
  if (rc == ZOK) of(p).r.stat = *stat;
  of(p).finish(rc);
}
void on_data(int rc, const char* bytes, int length, const Stat* stat, const void* p) {
  if (rc == ZOK) {
    of(p).r.data = data_of(bytes, length);
    of(p).r.stat = *stat;
  }
  of(p).finish(rc);
}
void on_strings(int rc, const String_vector* names, const void* p) {
  if (rc == ZOK) of(p).r.children = strings_of(*names);
  of(p).finish(rc);
}
void on_strings_stat(int rc, const String_vector* names, const Stat* stat, const void* p) {
  if (rc == ZOK) {
    of(p).r.children = strings_of(*names);
    of(p).r.stat = *stat;
  }
  of(p).finish(rc);
}
void on_acl(int rc, ACL_vector* acl, Stat* stat, const void* p) {
  if (rc == ZOK) {
    of(p).r.acl = entries_of(*acl);
    of(p).r.stat = *stat;
  }
  of(p).finish(rc);
}

class asynchronous final : public calls {
 public:
  explicit asynchronous(zhandle_t* zk) : zk_(zk) {}

  reply create(const std::string& path, std::optional<std::string> data, int mode,
               const std::vector<acl_entry>& acl) override {
    pending p;
    return p.after(zoo_acreate(zk_, path.c_str(), bytes_of(data), length_of(data),
                               acl_list(acl).get(), mode, on_string, &p));
  }
  reply create2(const std::string& path, std::optional<std::string> data, int mode,
                const std::vector<acl_entry>& acl) override {
    pending p;
    return p.after(zoo_acreate2(zk_, path.c_str(), bytes_of(data), length_of(data),
                                acl_list(acl).get(), mode, on_string_stat, &p));
  }
  reply create_ttl(const std::string& path, const std::string& data, int mode,
                   std::int64_t ttl_ms) override {
    pending p;
    return p.after(zoo_acreate_ttl(zk_, path.c_str(), data.data(), static_cast<int>(data.size()),
                                   &ZOO_OPEN_ACL_UNSAFE, mode, ttl_ms, on_string, &p));
  }
  reply create2_ttl(const std::string& path, const std::string& data, int mode,
                    std::int64_t ttl_ms) override {
    pending p;
    return p.after(zoo_acreate2_ttl(zk_, path.c_str(), data.data(), static_cast<int>(data.size()),
                                    &ZOO_OPEN_ACL_UNSAFE, mode, ttl_ms, on_string_stat, &p));
  }
  reply remove(const std::string& path, int version) override {
    pending p;
    return p.after(zoo_adelete(zk_, path.c_str(), version, on_nothing, &p));
  }

  reply exists(const std::string& path, watch* watcher) override {
    pending p;
    return p.after(zoo_awexists(zk_, path.c_str(), function(watcher), watcher, on_stat, &p));
  }
  reply exists_flagged(const std::string& path) override {
    pending p;
    return p.after(zoo_aexists(zk_, path.c_str(), 1, on_stat, &p));
  }
  reply get(const std::string& path, watch* watcher) override {
    pending p;
    return p.after(zoo_awget(zk_, path.c_str(), function(watcher), watcher, on_data, &p));
  }
  reply get_flagged(const std::string& path) override {
    pending p;
    return p.after(zoo_aget(zk_, path.c_str(), 1, on_data, &p));
  }
  reply get_config() override {
    pending p;
    return p.after(zoo_agetconfig(zk_, 0, on_data, &p));
  }
  reply set(const std::string& path, std::optional<std::string> data, int version) override {
    pending p;
    return p.after(
        zoo_aset(zk_, path.c_str(), bytes_of(data), length_of(data), version, on_stat, &p));
  }

  reply children(const std::string& path, watch* watcher) override {
    pending p;
    return p.after(
        zoo_awget_children(zk_, path.c_str(), function(watcher), watcher, on_strings, &p));
  }
  reply children_flagged(const std::string& path) override {
    pending p;
    return p.after(zoo_aget_children(zk_, path.c_str(), 1, on_strings, &p));
  }
  reply children2(const std::string& path, watch* watcher) override {
    pending p;
    return p.after(
        zoo_awget_children2(zk_, path.c_str(), function(watcher), watcher, on_strings_stat, &p));
  }

  reply get_acl(const std::string& path) override {
    pending p;
    return p.after(zoo_aget_acl(zk_, path.c_str(), on_acl, &p));
  }
  reply set_acl(const std::string& path, const std::vector<acl_entry>& acl, int version) override {
    pending p;
    const acl_list list(acl);
    return p.after(zoo_aset_acl(zk_, path.c_str(), version, const_cast<ACL_vector*>(list.get()),
                                on_nothing, &p));
  }

  reply multi(const std::vector<op>& ops) override {
    multi_arguments arguments(ops);
    pending p;
    auto r = p.after(
        zoo_amulti(zk_, arguments.count(), arguments.ops(), arguments.results(), on_nothing, &p));
    r.results = arguments.taken();
    return r;
  }

  reply remove_watch(const std::string& path, ZooWatcherType type, watch* watcher) override {
    pending p;
    return p.after(zoo_aremove_watches(zk_, path.c_str(), type, watch::call, watcher, 0,
                                       completion_pointer(), &p));
  }
  reply remove_all_watches(const std::string& path, ZooWatcherType type) override {
    pending p;
    return p.after(zoo_aremove_all_watches(zk_, path.c_str(), type, 0, completion_pointer(), &p));
  }

 private:
  static watcher_fn function(watch* w) { return w == nullptr ? nullptr : watch::call; }

  // The library declares a pointer to a pointer to a function, but casts it to a pointer to a
  // function.
  static void_completion_t* completion_pointer() {
    return reinterpret_cast<void_completion_t*>(on_nothing);
  }

  zhandle_t* zk_;
};

}  // namespace

std::unique_ptr<calls> asynchronous_calls(zhandle_t* zk) {
  return std::make_unique<asynchronous>(zk);
}

reply sync(zhandle_t* zk, const std::string& path) {
  pending p;
  return p.after(zoo_async(zk, path.c_str(), on_string, &p));
}

reply add_auth(zhandle_t* zk, const std::string& scheme, const std::string& credentials) {
  pending p;
  return p.after(zoo_add_auth(zk, scheme.c_str(), credentials.data(),
                              static_cast<int>(credentials.size()), on_nothing, &p));
}

}  // namespace conclave::testing
