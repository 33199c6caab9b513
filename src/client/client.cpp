#include "conclave/client.hpp"

#include <cstdint>
#include <new>
#include <utility>

#include "client/call.hpp"
#include "runtime/recipe_context.hpp"

namespace conclave {
namespace client_impl {
namespace {

void check(const client_options& options) {
  const auto refuse = [](errc e, const char* why) {
    throw error{e, std::string{"client_options: "} + why};
  };
  const auto t = options.session_timeout.count();
  if (t <= 0 || t > INT32_MAX)
    refuse(errc::invalid_argument, "session_timeout must be above 0 and at most 24 days");
  if (options.max_outstanding == 0 || options.max_outstanding_bytes == 0)
    refuse(errc::invalid_argument, "max_outstanding and max_outstanding_bytes must be above 0");
  if (options.connect_wait.count() < 0)
    refuse(errc::invalid_argument, "connect_wait must not be negative");
  if (!options.reconnect)
    refuse(errc::invalid_argument, "reconnect must not be empty; see exponential_backoff()");
  for (const auto& c : options.credentials)
    if (c.scheme == "sasl") refuse(errc::not_supported, "SASL credentials; use digest, or TLS");
}

core_pointer make_core(std::shared_ptr<runtime::io_thread> thread, std::string_view hosts,
                       const client_options& options) {
  check(options);
  auto where = connect_string::parse(hosts);
  auto core = std::make_shared<client_core>();
  core->log = options.log;
  core->open_by_default = options.default_acl.empty() && options.credentials.empty();
  requests::defaults defaults{where.chroot, options.default_acl};
  if (defaults.acl.empty())
    defaults.acl = options.credentials.empty() ? open_acl() : creator_all_acl();
  else
    defaults.ancestors_acl = defaults.acl;
  core->defaults = std::make_shared<requests::defaults>(std::move(defaults));
  core->driver = runtime::session_driver::start(thread->loop(), std::move(where), options);
  core->thread = std::move(thread);
  core->recipes = runtime::recipe_context::make(core->driver, core->defaults);
  core->recipes->observe(options.metrics, options.tracer);
  return core;
}

}  // namespace
}  // namespace client_impl

using client_impl::block;
using client_impl::keep_in_child;

client::client(std::string_view hosts, const client_options& options)
    : core_{client_impl::make_core(std::make_shared<runtime::io_thread>(), hosts, options)} {}

client::client(context& shared, std::string_view hosts, const client_options& options)
    : core_{client_impl::make_core(shared.thread_, hosts, options)} {}

client::client(client&&) noexcept = default;

client& client::operator=(client&& other) noexcept {
  if (this != &other) {
    const client closed_here{std::move(*this)};
    core_ = std::move(other.core_);
  }
  return *this;
}

client::~client() {
  if (!core_) return;
  keep_in_child(*core_, core_);
  if (!core_->forked()) close();
}

void client::close() noexcept {
  core_->driver->begin_close();
  core_->driver->wait_closed();
}

bool client::wait_connected(std::chrono::nanoseconds limit) {
  core_->require_may_block("wait_connected");
  return core_->driver->wait_connected(limit);
}

session_state client::state() const {
  return core_->driver->ask(session_state::closed, [](const auto& m) { return m.state(); });
}
std::int64_t client::session_id() const {
  return core_->driver->ask(std::int64_t{0}, [](const auto& m) { return m.session_id(); });
}
std::chrono::milliseconds client::session_timeout() const {
  return core_->driver->ask(std::chrono::milliseconds{0},
                            [](const auto& m) { return m.session_timeout(); });
}
bool client::read_only() const {
  return core_->driver->ask(false, [](const auto& m) { return m.read_only(); });
}
boot_clock::time_point client::session_deadline() const { return core_->driver->status().deadline; }

subscription client::on_session_event(std::function<void(const session_event&)> listener) {
  return subscription{core_->driver->listen(std::move(listener))};
}

client::executor_type client::get_executor() const {
  return core_->driver->loop().io().get_executor();
}

client::batch::batch(detail::core_pointer core) : core_{std::move(core)} {
  core_->driver->begin_batch(runtime::open_batches::kind::user);
}
client::batch::~batch() {
  if (core_) core_->driver->end_batch(runtime::open_batches::kind::user);
}

create_result client::create(std::string path, std::string data, create_options options) {
  const auto what = "create " + path;
  return block(what, core_, &detail::start_create, std::move(path), std::move(data),
               std::move(options));
}

void client::remove(std::string path, std::int32_t expected_version) {
  const auto what = "remove " + path;
  return block(what, core_, &detail::start_remove, std::move(path), expected_version);
}

std::optional<node_stat> client::exists(std::string path, watcher w) {
  const auto what = "exists " + path;
  return block(what, core_, &detail::start_exists, std::move(path), std::move(w));
}

get_result client::get(std::string path, watcher w) {
  const auto what = "get " + path;
  return block(what, core_, &detail::start_get, std::move(path), std::move(w));
}

node_stat client::set(std::string path, std::string data, std::int32_t expected_version) {
  const auto what = "set " + path;
  return block(what, core_, &detail::start_set, std::move(path), std::move(data), expected_version);
}

children_result client::children(std::string path, watcher w) {
  const auto what = "children " + path;
  return block(what, core_, &detail::start_children, std::move(path), std::move(w));
}

void client::sync(std::string path) {
  const auto what = "sync " + path;
  return block(what, core_, &detail::start_sync, std::move(path));
}

acl_result client::get_acl(std::string path) {
  const auto what = "get_acl " + path;
  return block(what, core_, &detail::start_get_acl, std::move(path));
}

node_stat client::set_acl(std::string path, acl list, std::int32_t expected_version) {
  const auto what = "set_acl " + path;
  return block(what, core_, &detail::start_set_acl, std::move(path), std::move(list),
               expected_version);
}

std::vector<std::string> client::ephemerals(std::string prefix) {
  const auto what = "ephemerals " + prefix;
  return block(what, core_, &detail::start_ephemerals, std::move(prefix));
}

std::int32_t client::count_descendants(std::string path) {
  const auto what = "count_descendants " + path;
  return block(what, core_, &detail::start_count_descendants, std::move(path));
}

transaction_result client::commit(transaction t) {
  return block("commit", core_, &detail::start_commit, std::move(t));
}

std::vector<read_result> client::read(read_group group) {
  return block("read", core_, &detail::start_read, std::move(group));
}

void client::add_watch(std::string path, watch_mode mode, watcher w) {
  const auto what = "add_watch " + path;
  return block(what, core_, &detail::start_add_watch, std::move(path), mode, std::move(w));
}

void client::remove_watch(std::string path, watch_kind kind, watcher w) {
  const auto what = "remove_watch " + path;
  return block(what, core_, &detail::start_remove_watch, std::move(path), kind, std::move(w));
}

void client::add_auth(credentials c) {
  return block("add_auth", core_, &detail::start_add_auth, std::move(c));
}

std::vector<identity> client::who_am_i() {
  return block("who_am_i", core_, &detail::start_who_am_i);
}

}  // namespace conclave
