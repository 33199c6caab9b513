// A wrapper for the official C client (libzookeeper_mt): handles with destructors, events that can
// be waited for, and the same interface for the blocking and the asynchronous functions.
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

// The time limit for something that must happen. A passing test does not reach it.
inline constexpr auto wait_limit = 30s;

// One server for the whole executable, started by the first call. Session timeouts are at least 400
// ms, sessions expire in steps of 100 ms, containers and TTL nodes are checked every 100 ms, and
// the password of super is "test".
zookeeper_server& shared_server();
zookeeper_options quick_server();  // the options of the shared server

struct event {
  int type;
  int state;
  std::string path;

  bool operator==(const event&) const = default;
};
// Events of a node on a connected client.
event created(std::string path);
event deleted(std::string path);
event changed(std::string path);
event children_changed(std::string path);

// The events of a watcher, in order.
class event_log {
 public:
  void put(event e);
  // Returns the next event, or nothing on a timeout.
  std::optional<event> take(std::chrono::nanoseconds limit = wait_limit);
  // Takes events until a session event with this state arrives. Returns false on a timeout.
  bool wait_for_state(int state, std::chrono::nanoseconds limit = wait_limit);
  std::size_t size() const;

 private:
  mutable std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<event> events_;
};

// A watcher for one-shot watches. Ignores session events, which the library passes to every
// watcher. Must outlive its client.
class watch {
 public:
  std::optional<event> take(std::chrono::nanoseconds limit = wait_limit) {
    return log_.take(limit);
  }
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

  operator zhandle_t*() const noexcept { return handle_; }  // NOLINT: for the C interface
  void close();  // ends the session if the server can be reached; the destructor calls it

  bool wait_connected() { return events.wait_for_state(ZOO_CONNECTED_STATE); }
  clientid_t session() const { return *zoo_client_id(handle_); }

  // Session events, and events of watches that were set with a flag instead of a watcher.
  event_log events;

 private:
  zhandle_t* handle_;
};

// The result of an operation. Only the fields that the operation returns are set.
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

// An ACL for the C interface.
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

// The blocking or the asynchronous functions of the library. Every call waits for its reply.
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

  // Sets a watch with a flag. Its events go to c_client::events.
  virtual reply exists_flagged(const std::string& path) = 0;
  virtual reply get_flagged(const std::string& path) = 0;
  virtual reply children_flagged(const std::string& path) = 0;
};
std::unique_ptr<calls> blocking_calls(zhandle_t* zk);
std::unique_ptr<calls> asynchronous_calls(zhandle_t* zk);

// The library has only asynchronous functions for these.
reply sync(zhandle_t* zk, const std::string& path);
reply add_auth(zhandle_t* zk, const std::string& scheme, const std::string& credentials);

}  // namespace conclave::testing
