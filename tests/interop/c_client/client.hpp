// The official C client (libzookeeper_mt), wrapped just enough that a test reads like one: handles
// that close themselves, events that can be waited for, and every operation in one shape, whether
// it is made by the blocking half of the library or by the asynchronous one.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <zookeeper/zookeeper.h>

#include "support/zookeeper_server.hpp"

namespace conclave::testing {

using namespace std::chrono_literals;

// How long a test waits for something that must happen: long, since it costs nothing when it does.
inline constexpr auto patience = 30s;

// One server for the whole executable, started by the first test that asks. Its sessions last 400
// ms at least and expire in steps of 100 ms, containers and TTL nodes are looked at every 100 ms,
// super's password is "test".
zookeeper_server& shared_server();
zookeeper_options quick_server();  // as that one

struct event {
  int type;
  int state;
  std::string path;

  bool operator==(const event&) const = default;
};
// Of a node, as a connected client gets it.
event created(std::string path);
event deleted(std::string path);
event changed(std::string path);
event children_changed(std::string path);

// The events that a watcher was given, in their order.
class event_log {
 public:
  void put(event e);
  // The next one; nothing if none came in time.
  std::optional<event> take(std::chrono::nanoseconds limit = patience);
  // Takes events until one of the session with this state comes; false if none came in time.
  bool wait_for_state(int state, std::chrono::nanoseconds limit = patience);
  std::size_t size() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<event> events_;
};

// A watcher for one-shot watches. Session events, which the library gives to every watcher, are
// left out. Must outlive the client it is used with.
class watch {
 public:
  std::optional<event> take(std::chrono::nanoseconds limit = patience) { return log_.take(limit); }
  std::size_t size() const { return log_.size(); }

  static void call(zhandle_t*, int type, int state, const char* path, void* self);

 private:
  event_log log_;
};

// A handle. The constructor does not wait for the connection.
class c_client {
 public:
  explicit c_client(const std::string& connect_string, int timeout_ms = 20000,
                    const clientid_t* session = nullptr, int flags = 0);
  ~c_client();
  c_client(const c_client&) = delete;
  c_client& operator=(const c_client&) = delete;

  operator zhandle_t*() const noexcept { return handle_; }  // NOLINT: as the C interface wants it
  void close();  // what the destructor does: ends the session, if the server can be told

  bool wait_connected() { return events.wait_for_state(ZOO_CONNECTED_STATE); }
  clientid_t session() const { return *zoo_client_id(handle_); }

  // Of the session, and of watches set with a flag instead of a watcher.
  event_log events;

 private:
  zhandle_t* handle_;
};

// What came back; an operation fills in what it has.
struct acl_entry {
  std::int32_t perms;
  std::string scheme;
  std::string id;

  bool operator==(const acl_entry&) const = default;
};
struct op_result {
  int rc;
  std::string path;
  Stat stat;
};
struct reply {
  int rc{0};
  std::string path;
  Stat stat{};
  std::optional<std::string> data;  // nothing for a node whose data is null
  std::vector<std::string> children;
  std::vector<acl_entry> acl;
  std::vector<op_result> results;
};

// A list of permissions that the C interface understands.
class acl_list {
 public:
  acl_list(std::vector<acl_entry> entries);  // NOLINT: a list is a list
  acl_list(acl_list&&) = delete;

  const ACL_vector* get() const noexcept { return &vector_; }

 private:
  std::vector<acl_entry> entries_;
  std::vector<ACL> converted_;
  ACL_vector vector_;
};
const std::vector<acl_entry>& open_acl();  // all permissions for everybody

// A part of a multi.
struct op {
  enum class kind { create, remove, set, check };
  kind what;
  std::string path;
  std::string data;
  int version_or_mode{-1};
};
op create_op(std::string path, std::string data, int mode);
op remove_op(std::string path, int version = -1);
op set_op(std::string path, std::string data, int version = -1);
op check_op(std::string path, int version);

// One half of the library. Every call waits for its reply.
class calls {
 public:
  virtual ~calls() = default;

  virtual reply create(const std::string& path, std::optional<std::string> data, int mode = 0,
                       const std::vector<acl_entry>& acl = open_acl()) = 0;
  virtual reply create2(const std::string& path, std::optional<std::string> data, int mode = 0,
                        const std::vector<acl_entry>& acl = open_acl()) = 0;
  virtual reply create_ttl(const std::string& path, const std::string& data, int mode,
                           std::int64_t ttl_ms) = 0;
  virtual reply create2_ttl(const std::string& path, const std::string& data, int mode,
                            std::int64_t ttl_ms) = 0;
  virtual reply remove(const std::string& path, int version = -1) = 0;
  virtual reply exists(const std::string& path, watch* watcher = nullptr) = 0;
  virtual reply get(const std::string& path, watch* watcher = nullptr) = 0;
  virtual reply set(const std::string& path, std::optional<std::string> data, int version = -1) = 0;
  virtual reply children(const std::string& path, watch* watcher = nullptr) = 0;
  virtual reply children2(const std::string& path, watch* watcher = nullptr) = 0;
  virtual reply get_acl(const std::string& path) = 0;
  virtual reply set_acl(const std::string& path, const std::vector<acl_entry>& acl,
                        int version = -1) = 0;
  virtual reply multi(const std::vector<op>& ops) = 0;
  virtual reply remove_watch(const std::string& path, ZooWatcherType type, watch* watcher) = 0;
  virtual reply remove_all_watches(const std::string& path, ZooWatcherType type) = 0;
  virtual reply get_config() = 0;

  // With a flag: the watch goes to the client's own events.
  virtual reply exists_flagged(const std::string& path) = 0;
  virtual reply get_flagged(const std::string& path) = 0;
  virtual reply children_flagged(const std::string& path) = 0;
};
std::unique_ptr<calls> blocking_calls(zhandle_t* zk);
std::unique_ptr<calls> asynchronous_calls(zhandle_t* zk);

// Of these there is an asynchronous form only.
reply sync(zhandle_t* zk, const std::string& path);
reply add_auth(zhandle_t* zk, const std::string& scheme, const std::string& credentials);

}  // namespace conclave::testing
