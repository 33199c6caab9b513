// A client of a ZooKeeper ensemble: one session, and every operation of the protocol.
//
//   conclave::client zk{"zk1:2181,zk2:2181,zk3:2181/app"};
//   zk.create("/config", "blue");
//   auto [data, stat] = zk.get("/config", [](const conclave::watch_event& e) { ... });
//
// Each operation comes as a blocking member, which throws conclave::error, and as an async_ member
// that takes any Asio completion token and completes with an error_code (error.hpp says what
// becomes of it with use_awaitable and use_future). Both may be called from any thread. A request
// is sent by the calling thread itself; requests of one client are answered in the order in which
// they were made, as long as the connection lasts.
//
// Connecting, waiting and retrying. The client connects in the background and stays connected.
// An operation waits for a connection as long as client_options::connect_wait says. If the
// connection ends while a request is under way, reads are repeated on the next one; writes never
// are, and complete with errc::connection_loss (condition::outcome_unknown).
//
// Cancelling an async_ operation through its cancellation slot (any type) completes it at once with
// operation_aborted; a write that was sent may still take effect. Handlers without an executor of
// their own run on the context's thread (see context.hpp); with one they are dispatched to it.
//
// Paths are checked before anything is sent (errc::invalid_path). Those given and returned are
// without the chroot.
#pragma once

#if __cplusplus < 202002L
#error "Conclave needs C++20: compile with -std=c++20"
#endif

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>

#include "conclave/acl.hpp"
#include "conclave/boot_clock.hpp"
#include "conclave/client_options.hpp"
#include "conclave/context.hpp"
#include "conclave/error.hpp"
#include "conclave/node.hpp"
#include "conclave/session_event.hpp"
#include "conclave/transaction.hpp"
#include "conclave/watch.hpp"

namespace conclave {

namespace detail {

struct client_core;
using core_pointer = std::shared_ptr<client_core>;
struct core_access;  // by which locks reach the core of their client

template <class Result>
struct signature_of {
  using type = void(error_code, Result);
};
template <>
struct signature_of<void> {
  using type = void(error_code);
};
template <class Result>
using signature = typename signature_of<Result>::type;
template <class Result>
using handler = boost::asio::any_completion_handler<signature<Result>>;

// Who gets the result: a handler, or a thread that waits for it.
template <class Result>
struct blocking_call;
template <class Result>
using receiver = std::variant<handler<Result>, blocking_call<Result>*>;

void start_create(const core_pointer&, receiver<create_result>, std::string path, std::string data,
                  create_options);
void start_remove(const core_pointer&, receiver<void>, std::string path, std::int32_t version);
void start_exists(const core_pointer&, receiver<std::optional<node_stat>>, std::string path,
                  watcher);
void start_get(const core_pointer&, receiver<get_result>, std::string path, watcher);
void start_set(const core_pointer&, receiver<node_stat>, std::string path, std::string data,
               std::int32_t version);
void start_children(const core_pointer&, receiver<children_result>, std::string path, watcher);
void start_sync(const core_pointer&, receiver<void>, std::string path);
void start_get_acl(const core_pointer&, receiver<acl_result>, std::string path);
void start_set_acl(const core_pointer&, receiver<node_stat>, std::string path, acl,
                   std::int32_t version);
void start_commit(const core_pointer&, receiver<transaction_result>, transaction);
void start_read(const core_pointer&, receiver<std::vector<read_result>>, read_group);
void start_add_auth(const core_pointer&, receiver<void>, credentials);
void start_who_am_i(const core_pointer&, receiver<std::vector<identity>>);
void start_ephemerals(const core_pointer&, receiver<std::vector<std::string>>, std::string prefix);
void start_count_descendants(const core_pointer&, receiver<std::int32_t>, std::string path);
void start_add_watch(const core_pointer&, receiver<void>, std::string path, watch_mode, watcher);
void start_remove_watch(const core_pointer&, receiver<void>, std::string path, watch_kind, watcher);
void start_close(const core_pointer&, receiver<void>);

// Object: a client's core, or a lock's.
template <class Result, class Object, class Token, class... Parameters, class... Arguments>
auto initiate(const Object& object, void (*start)(const Object&, receiver<Result>, Parameters...),
              Token&& token, Arguments&&... arguments) {
  return boost::asio::async_initiate<Token, signature<Result>>(
      [object, start](auto&& h, Parameters... p) {
        start(object, handler<Result>{std::forward<decltype(h)>(h)}, std::move(p)...);
      },
      token, static_cast<Parameters>(std::forward<Arguments>(arguments))...);
}

}  // namespace detail

// Keeps a session listener. Once its destructor has returned, the listener is not running and will
// not be called again (on the I/O thread: unless it is the one that is running).
class [[nodiscard]] subscription {
 public:
  subscription() = default;
  explicit subscription(std::shared_ptr<void> token) : token_{std::move(token)} {}

 private:
  std::shared_ptr<void> token_;
};

class client {
 public:
  // Begins to connect and returns at once. `hosts` is a connect string (connect_string.hpp). Throws
  // errc::bad_connect_string, errc::tls_failed if a certificate or key cannot be read,
  // errc::invalid_argument or errc::not_supported for options.
  explicit client(std::string_view hosts, const client_options& options = {});
  client(context& shared, std::string_view hosts, const client_options& options = {});

  // Closes the session as close() does. With a context of its own it also ends that context's
  // thread, which a name that is being resolved can hold up for two seconds.
  // After a move, only destruction and assignment are allowed.
  ~client();
  client(client&&) noexcept;
  client& operator=(client&&) noexcept;

  // Ends the session: its ephemeral nodes go, every pending operation completes. Waits for the
  // server's confirmation, at most a third of the session timeout; without one the server ends the
  // session when its timeout has passed. When it returns, every handler and watcher that runs on
  // the I/O thread has run. On the I/O thread itself it does not wait.
  void close() noexcept;

  // --- the session

  // Waits for a connection; false if there is none in time.
  bool wait_connected(std::chrono::nanoseconds limit);

  session_state state() const;
  std::int64_t session_id() const;  // 0 while there is no session
  std::chrono::milliseconds session_timeout()
      const;               // given by the server; before, the one asked for
  bool read_only() const;  // attached to a server that only reads

  // A single server cannot have expired the session before this moment: the last request that was
  // answered was *sent* at t, so not before t + timeout, less a tenth of the timeout to be safe.
  // It lies in the past if the session may be gone; boot_clock's smallest time if there is none.
  //
  // On an ensemble this is best effort: a server that is cut off from its leader, or dies before it
  // has told the leader of our request, leaves the leader counting from an earlier one. What must
  // be safe there compares fencing tokens (node_stat::czxid).
  //
  // On the Unix socket of our own server there is no such moment as long as the connection is
  // whole: it is then boot_clock's largest time.
  boot_clock::time_point session_deadline() const;

  // Tells each session event from now on, on the I/O thread.
  subscription on_session_event(std::function<void(const session_event&)> listener);

  // The context's executor, on which handlers without one of their own run.
  using executor_type = boost::asio::any_io_executor;
  executor_type get_executor() const;

  // Requests started while this lives leave together when it ends, in one write. A blocking call
  // sends them earlier, and so does what a lock has to send.
  class [[nodiscard]] batch {
   public:
    ~batch();
    batch(batch&&) noexcept = default;
    batch& operator=(batch&&) = delete;

   private:
    friend class client;
    explicit batch(detail::core_pointer core);
    detail::core_pointer core_;
  };
  batch begin_batch() { return batch{core_}; }

  // --- nodes

  create_result create(std::string path, std::string data = {}, create_options options = {});
  template <class Token>
  auto async_create(std::string path, std::string data, create_options options, Token&& token) {
    return detail::initiate<create_result>(core_, &detail::start_create, std::forward<Token>(token),
                                           std::move(path), std::move(data), std::move(options));
  }

  void remove(std::string path, std::int32_t version = any_version);
  template <class Token>
  auto async_remove(std::string path, std::int32_t version, Token&& token) {
    return detail::initiate<void>(core_, &detail::start_remove, std::forward<Token>(token),
                                  std::move(path), version);
  }

  // Nothing if there is no such node; a watcher is then told of its creation.
  std::optional<node_stat> exists(std::string path, watcher w = {});
  template <class Token>
  auto async_exists(std::string path, watcher w, Token&& token) {
    return detail::initiate<std::optional<node_stat>>(
        core_, &detail::start_exists, std::forward<Token>(token), std::move(path), std::move(w));
  }
  template <class Token>
  auto async_exists(std::string path, Token&& token) {
    return async_exists(std::move(path), watcher{}, std::forward<Token>(token));
  }

  get_result get(std::string path, watcher w = {});
  template <class Token>
  auto async_get(std::string path, watcher w, Token&& token) {
    return detail::initiate<get_result>(core_, &detail::start_get, std::forward<Token>(token),
                                        std::move(path), std::move(w));
  }
  template <class Token>
  auto async_get(std::string path, Token&& token) {
    return async_get(std::move(path), watcher{}, std::forward<Token>(token));
  }

  node_stat set(std::string path, std::string data, std::int32_t version = any_version);
  template <class Token>
  auto async_set(std::string path, std::string data, std::int32_t version, Token&& token) {
    return detail::initiate<node_stat>(core_, &detail::start_set, std::forward<Token>(token),
                                       std::move(path), std::move(data), version);
  }

  children_result children(std::string path, watcher w = {});
  template <class Token>
  auto async_children(std::string path, watcher w, Token&& token) {
    return detail::initiate<children_result>(
        core_, &detail::start_children, std::forward<Token>(token), std::move(path), std::move(w));
  }
  template <class Token>
  auto async_children(std::string path, Token&& token) {
    return async_children(std::move(path), watcher{}, std::forward<Token>(token));
  }

  // Afterwards, reads show at least everything that was written anywhere before this call.
  void sync(std::string path = "/");
  template <class Token>
  auto async_sync(std::string path, Token&& token) {
    return detail::initiate<void>(core_, &detail::start_sync, std::forward<Token>(token),
                                  std::move(path));
  }

  acl_result get_acl(std::string path);
  template <class Token>
  auto async_get_acl(std::string path, Token&& token) {
    return detail::initiate<acl_result>(core_, &detail::start_get_acl, std::forward<Token>(token),
                                        std::move(path));
  }

  // The version is that of the ACL (node_stat::aversion).
  node_stat set_acl(std::string path, acl list, std::int32_t version = any_version);
  template <class Token>
  auto async_set_acl(std::string path, acl list, std::int32_t version, Token&& token) {
    return detail::initiate<node_stat>(core_, &detail::start_set_acl, std::forward<Token>(token),
                                       std::move(path), std::move(list), version);
  }

  // Paths of this session's ephemeral nodes that begin with the prefix.
  std::vector<std::string> ephemerals(std::string prefix = "/");
  template <class Token>
  auto async_ephemerals(std::string prefix, Token&& token) {
    return detail::initiate<std::vector<std::string>>(
        core_, &detail::start_ephemerals, std::forward<Token>(token), std::move(prefix));
  }

  // How many nodes there are below this one, at any depth.
  std::int32_t count_descendants(std::string path);
  template <class Token>
  auto async_count_descendants(std::string path, Token&& token) {
    return detail::initiate<std::int32_t>(core_, &detail::start_count_descendants,
                                          std::forward<Token>(token), std::move(path));
  }

  // --- several at once

  // The blocking form throws transaction_error with every part's result; the other one completes
  // with the failed part's code and the results (which use_awaitable and use_future lose in an
  // exception: as_tuple keeps them). A part that no server would take is refused before anything is
  // sent, with no results. An empty transaction succeeds.
  transaction_result commit(transaction t);
  template <class Token>
  auto async_commit(transaction t, Token&& token) {
    return detail::initiate<transaction_result>(core_, &detail::start_commit,
                                                std::forward<Token>(token), std::move(t));
  }

  std::vector<read_result> read(read_group group);
  template <class Token>
  auto async_read(read_group group, Token&& token) {
    return detail::initiate<std::vector<read_result>>(core_, &detail::start_read,
                                                      std::forward<Token>(token), std::move(group));
  }

  // --- watches that stay

  void add_watch(std::string path, watch_mode mode, watcher w);
  template <class Token>
  auto async_add_watch(std::string path, watch_mode mode, watcher w, Token&& token) {
    return detail::initiate<void>(core_, &detail::start_add_watch, std::forward<Token>(token),
                                  std::move(path), mode, std::move(w));
  }

  // Takes the watcher (none: every watcher) off the path's watches of that kind; watches left by
  // add_watch are of kind any. The server is told once nobody here needs its watch any more.
  // errc::no_watcher if there is none.
  void remove_watch(std::string path, watch_kind kind, watcher w = {});
  template <class Token>
  auto async_remove_watch(std::string path, watch_kind kind, watcher w, Token&& token) {
    return detail::initiate<void>(core_, &detail::start_remove_watch, std::forward<Token>(token),
                                  std::move(path), kind, std::move(w));
  }

  // --- who we are

  // Adds to client_options::credentials, for this connection and those to come. SASL is
  // errc::not_supported.
  void add_auth(credentials c);
  template <class Token>
  auto async_add_auth(credentials c, Token&& token) {
    return detail::initiate<void>(core_, &detail::start_add_auth, std::forward<Token>(token),
                                  std::move(c));
  }

  std::vector<identity> who_am_i();
  template <class Token>
  auto async_who_am_i(Token&& token) {
    return detail::initiate<std::vector<identity>>(core_, &detail::start_who_am_i,
                                                   std::forward<Token>(token));
  }

  template <class Token>
  auto async_close(Token&& token) {
    return detail::initiate<void>(core_, &detail::start_close, std::forward<Token>(token));
  }

 private:
  friend struct detail::core_access;
  detail::core_pointer core_;
};

}  // namespace conclave
