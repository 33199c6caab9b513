// The async_ operations. Each of them turns a request into an operation of the session. The
// operation has a receiver for its result.
#include <algorithm>

#include "client/call.hpp"
#include "client/contenders.hpp"
#include "recipes/hold_state.hpp"
#include "requests/requests.hpp"
#include "session/operation.hpp"
#include "session/paths.hpp"

namespace conclave {
namespace client_impl {
namespace {

// An operation started by the user. It parses the reply and passes the result to the receiver.
template <class Result>
class call final : public session::operation {
 public:
  call(const core_pointer& core, receiver<Result> to, requests::request<stored<Result>> r)
      : operation{r.type, r.rule},
        defaults_{core->defaults},
        to_{core->driver->loop(), std::move(to)},
        read_{r.read} {
    frame = std::move(r.frame);
    watch = std::move(r.watch);
  }

  bool read_reply(const wire::reply_header& header, wire::reader& body) override {
    return read_(*defaults_, header, body, result_) && body.ok();
  }
  error_code verdict(error_code answered) const noexcept override {
    return requests::verdict(type(), answered, result_);
  }
  void complete(error_code ec) noexcept override {
    // The operation is bound to the session of its locks and is not sent in any other session.
    if (!holds_.empty() && ec == errc::session_expired) ec = errc::lock_lost;
    to_.complete(ec, std::move(result_));
  }
  error_code why_refused() const noexcept override {
    for (const auto& h : holds_)
      if (h->ended()) return errc::lock_lost;
    return {};
  }

  // Binds the operation to these holds: it is sent only in their session and only while they are
  // held. Returns false if the holds have different sessions or one of them is not held.
  bool only_under(transaction::holds all) {
    bound_to.session = all.front()->session();
    holds_ = std::move(all);
    return std::all_of(holds_.begin(), holds_.end(), [&](const auto& h) {
      return h->session() == bound_to.session && h->remaining() > recipes::duration{0};
    });
  }

  void connect_cancellation(const std::shared_ptr<runtime::session_driver>& driver) {
    to_.on_cancel([weak = std::weak_ptr{driver}, id = id()] {
      if (const auto d = weak.lock()) d->cancel(id);
    });
  }
  bool blocking() const noexcept { return to_.blocked() != nullptr; }

 private:
  std::shared_ptr<const requests::defaults> defaults_;  // the operation can outlive its client
  recipient<Result> to_;
  typename requests::request<stored<Result>>::reader read_;
  stored<Result> result_{};
  transaction::holds holds_;
};

template <class Result>
std::unique_ptr<call<Result>> make(const core_pointer& core, receiver<Result> to,
                                   requests::request<stored<Result>> r) {
  return std::make_unique<call<Result>>(core, std::move(to), std::move(r));
}

template <class Result>
void send(const core_pointer& core, std::unique_ptr<call<Result>> op, error_code refused) {
  const bool blocking = op->blocking();
  if (!refused) op->connect_cancellation(core->driver);
  std::unique_ptr<session::operation> any = std::move(op);
  if (!refused) refused = core->driver->submit(any, blocking);
  if (refused) core->driver->refuse(std::move(any), refused);
}

template <class Result>
void send(const core_pointer& core, receiver<Result> to, requests::request<stored<Result>> r) {
  const auto refused = r.refused;
  send(core, make<Result>(core, std::move(to), std::move(r)), refused);
}

void warn_of_open_acl(client_core& core, const create_options& options) {
  if (options.acl.empty() && core.open_by_default && core.log &&
      !core.open_acl_reported.exchange(true))
    core.log(log_level::warning,
             "nodes are created open to everybody, since neither credentials nor a default ACL "
             "were given");
}

}  // namespace

void start_listing(const core_pointer& core, receiver<children_result> to, std::string path) {
  auto r = requests::children(*core->defaults, path, {});
  const auto refused = r.refused;
  auto op = make<children_result>(core, std::move(to), std::move(r));
  op->max_reply_bytes = session::operation::any_reply;
  send(core, std::move(op), refused);
}

}  // namespace client_impl

using client_impl::make;
using client_impl::send;
using client_impl::warn_of_open_acl;

void detail::start_create(const core_pointer& core, receiver<create_result> to, std::string path,
                          std::string data, create_options options) {
  warn_of_open_acl(*core, options);
  send(core, std::move(to), requests::create(*core->defaults, path, data, options));
}

void detail::start_remove(const core_pointer& core, receiver<void> to, std::string path,
                          std::int32_t expected_version) {
  send(core, std::move(to), requests::remove(*core->defaults, path, expected_version));
}

void detail::start_exists(const core_pointer& core, receiver<std::optional<node_stat>> to,
                          std::string path, watcher w) {
  send(core, std::move(to), requests::exists(*core->defaults, path, w));
}

void detail::start_get(const core_pointer& core, receiver<get_result> to, std::string path,
                       watcher w) {
  send(core, std::move(to), requests::get(*core->defaults, path, w));
}

void detail::start_set(const core_pointer& core, receiver<node_stat> to, std::string path,
                       std::string data, std::int32_t expected_version) {
  send(core, std::move(to), requests::set(*core->defaults, path, data, expected_version));
}

void detail::start_children(const core_pointer& core, receiver<children_result> to,
                            std::string path, watcher w) {
  send(core, std::move(to), requests::children(*core->defaults, path, w));
}

void detail::start_sync(const core_pointer& core, receiver<void> to, std::string path) {
  send(core, std::move(to), requests::sync(*core->defaults, path));
}

void detail::start_get_acl(const core_pointer& core, receiver<acl_result> to, std::string path) {
  send(core, std::move(to), requests::get_acl(*core->defaults, path));
}

void detail::start_set_acl(const core_pointer& core, receiver<node_stat> to, std::string path,
                           acl list, std::int32_t expected_version) {
  send(core, std::move(to), requests::set_acl(*core->defaults, path, list, expected_version));
}

void detail::start_ephemerals(const core_pointer& core, receiver<std::vector<std::string>> to,
                              std::string prefix) {
  send(core, std::move(to), requests::ephemerals(*core->defaults, prefix));
}

void detail::start_count_descendants(const core_pointer& core, receiver<std::int32_t> to,
                                     std::string path) {
  send(core, std::move(to), requests::count_descendants(*core->defaults, path));
}

void detail::start_commit(const core_pointer& core, receiver<transaction_result> to,
                          transaction t) {
  for (const auto& part : t.parts())
    if (const auto* p = std::get_if<transaction::create_part>(&part))
      warn_of_open_acl(*core, p->options);
  auto r = requests::commit(*core->defaults, t);
  auto refused = r.refused;
  auto op = make<transaction_result>(core, std::move(to), std::move(r));
  if (!t.under().empty() && !op->only_under(t.under()) && !refused) refused = errc::lock_lost;
  send(core, std::move(op), refused);
}

void detail::start_read(const core_pointer& core, receiver<std::vector<read_result>> to,
                        read_group group) {
  send(core, std::move(to), requests::read(*core->defaults, group));
}

void detail::start_add_watch(const core_pointer& core, receiver<void> to, std::string path,
                             watch_mode mode, watcher w) {
  send(core, std::move(to), requests::add_watch(*core->defaults, path, mode, w));
}

void detail::start_remove_watch(const core_pointer& core, receiver<void> to, std::string path,
                                watch_kind kind, watcher w) {
  auto r = requests::remove_watch(*core->defaults, path, kind);
  const auto refused = r.refused;
  auto op = make<void>(core, std::move(to), std::move(r));
  if (refused) return send(core, std::move(op), refused);
  const bool blocking = op->blocking();
  op->connect_cancellation(core->driver);
  std::unique_ptr<session::operation> any = std::move(op);
  const auto full = session::with_chroot(core->defaults->chroot, path);
  if (const auto ec = core->driver->submit_watch_removal(any, kind, full, w, blocking))
    core->driver->refuse(std::move(any), ec);
}

void detail::start_add_auth(const core_pointer& core, receiver<void> to, credentials c) {
  auto r = requests::add_auth(c);
  const auto refused = r.refused;
  auto op = make<void>(core, std::move(to), std::move(r));
  op->new_credentials.emplace(std::move(c));
  send(core, std::move(op), refused);
}

void detail::start_who_am_i(const core_pointer& core, receiver<std::vector<identity>> to) {
  send(core, std::move(to), requests::who_am_i());
}

void detail::start_close(const core_pointer& core, receiver<void> to) {
  requests::request<requests::nothing> r;
  r.type = wire::opcode::close_session;
  r.rule = session::on_disconnect::succeed;
  r.read = [](const auto&, const auto&, auto&, auto&) { return true; };
  auto op = make<void>(core, std::move(to), std::move(r));
  op->connect_cancellation(core->driver);
  core->driver->begin_close(std::move(op));
}

}  // namespace conclave
