#include "client.hpp"

#include <stdexcept>

namespace conclave::testing {

zookeeper_options quick_server() {
  zookeeper_options options;
  options.tick_ms = 100;
  options.min_session_timeout_ms = 400;
  options.config["reconfigEnabled"] =
      "true";  // otherwise Apache's server replies that reconfig is disabled
  options.java_properties = {
      "znode.container.checkIntervalMs=100",
      "zookeeper.DigestAuthenticationProvider.superDigest=super:D/InIHSb7yEEbrWz8b9l71RjZJU="};
  return options;
}

zookeeper_server& shared_server() {
  static zookeeper_server server{quick_server()};
  return server;
}

event created(std::string path) {
  return {ZOO_CREATED_EVENT, ZOO_CONNECTED_STATE, std::move(path)};
}
event deleted(std::string path) {
  return {ZOO_DELETED_EVENT, ZOO_CONNECTED_STATE, std::move(path)};
}
event changed(std::string path) {
  return {ZOO_CHANGED_EVENT, ZOO_CONNECTED_STATE, std::move(path)};
}
event children_changed(std::string path) {
  return {ZOO_CHILD_EVENT, ZOO_CONNECTED_STATE, std::move(path)};
}

void event_log::put(event e) {
  // Notifies under the lock, because the receiver may destroy this object at once.
  const std::lock_guard lock{mutex_};
  events_.push_back(std::move(e));
  arrived_.notify_all();
}

std::optional<event> event_log::take(std::chrono::nanoseconds limit) {
  std::unique_lock lock{mutex_};
  if (!arrived_.wait_for(lock, limit, [&] { return !events_.empty(); })) return std::nullopt;
  auto e = std::move(events_.front());
  events_.pop_front();
  return e;
}

bool event_log::wait_for_state(int state, std::chrono::nanoseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (const auto e = take(end - std::chrono::steady_clock::now()))
    if (e->type == ZOO_SESSION_EVENT && e->state == state) return true;
  return false;
}

std::size_t event_log::size() const {
  const std::lock_guard lock{mutex_};
  return events_.size();
}

void watch::call(zhandle_t*, int type, int state, const char* path, void* self) {
  if (type == ZOO_SESSION_EVENT) return;
  static_cast<watch*>(self)->log_.put({type, state, path == nullptr ? "" : path});
}

c_client::c_client(const std::string& connect_string, int timeout_ms, const clientid_t* session,
                   int flags) {
  static const bool quiet = [] {
    zoo_set_debug_level(static_cast<ZooLogLevel>(0));  // tests lose connections all the time
    return true;
  }();
  static_cast<void>(quiet);
  const auto record = [](zhandle_t*, int type, int state, const char* path, void* self) {
    static_cast<c_client*>(self)->events.put({type, state, path == nullptr ? "" : path});
  };
  handle_ = zookeeper_init(connect_string.c_str(), record, timeout_ms, session, this, flags);
  if (handle_ == nullptr) throw std::runtime_error("zookeeper_init refused " + connect_string);
}

c_client::~c_client() { close(); }

void c_client::close() {
  if (handle_ != nullptr) zookeeper_close(handle_);
  handle_ = nullptr;
}

acl_list::acl_list(std::vector<acl_entry> entries) : entries_(std::move(entries)) {
  for (auto& e : entries_) converted_.push_back({e.perms, {e.scheme.data(), e.id.data()}});
  vector_ = {static_cast<std::int32_t>(converted_.size()), converted_.data()};
}

const std::vector<acl_entry>& open_acl() {
  static const std::vector<acl_entry> acl{{ZOO_PERM_ALL, "world", "anyone"}};
  return acl;
}

op create_op(std::string path, std::string data, int mode) {
  return {op::kind::create, std::move(path), std::move(data), mode};
}
op remove_op(std::string path, int version) {
  return {op::kind::remove, std::move(path), {}, version};
}
op set_op(std::string path, std::string data, int version) {
  return {op::kind::set, std::move(path), std::move(data), version};
}
op check_op(std::string path, int version) {
  return {op::kind::check, std::move(path), {}, version};
}

}  // namespace conclave::testing
