// A client of a ZooKeeper ensemble. It has one session and offers every operation of the protocol.
//
//   conclave::client zk{"zk1:2181,zk2:2181,zk3:2181/app"};
//   zk.create("/config", "blue");
//   auto [data, stat] = zk.get("/config", [](const conclave::watch_event& e) { ... });
//
// Every operation has two forms. The blocking member throws conclave::error. The async_ member
// takes any Asio completion token and completes with an error_code (error.hpp describes
// use_awaitable and use_future). Both forms may be called from any thread. The calling thread sends
// the request itself. On one connection, the server answers requests in the order in which the
// calls were made.
//
// The client connects in the background and reconnects after a lost connection. An operation waits
// at most client_options::connect_wait for a connection. If the connection is lost before the reply
// arrives, reads are repeated on the next connection. A write that was sent is never repeated and
// completes with errc::connection_loss (condition::outcome_unknown). A write that has not been sent
// yet waits for the next connection. But if an earlier write has an unknown outcome, the later
// write is not sent and completes with errc::not_connected.
//
// Cancelling an async_ operation through its cancellation slot (any cancellation type) completes it
// at once with operation_aborted. A write that was already sent may still take effect. Handlers
// that have an associated executor are dispatched to it. Other handlers run on the I/O thread, see
// context.hpp.
//
// The client checks paths before it sends anything (errc::invalid_path). Paths given to the client
// and returned by it do not include the chroot.
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

namespace client_impl {
struct client_core;
struct core_access;  // gives locks access to their client's core
template <class Result>
struct blocking_call;
}  // namespace client_impl

namespace detail {

using core_pointer = std::shared_ptr<client_impl::client_core>;

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

// The recipient of a result: a completion handler or a blocked thread.
template <class Result>
using receiver = std::variant<handler<Result>, client_impl::blocking_call<Result>*>;

void start_create(const core_pointer&, receiver<create_result>, std::string path, std::string data,
                  create_options);
void start_remove(const core_pointer&, receiver<void>, std::string path,
                  std::int32_t expected_version);
void start_exists(const core_pointer&, receiver<std::optional<node_stat>>, std::string path,
                  watcher);
void start_get(const core_pointer&, receiver<get_result>, std::string path, watcher);
void start_set(const core_pointer&, receiver<node_stat>, std::string path, std::string data,
               std::int32_t expected_version);
void start_children(const core_pointer&, receiver<children_result>, std::string path, watcher);
void start_sync(const core_pointer&, receiver<void>, std::string path);
void start_get_acl(const core_pointer&, receiver<acl_result>, std::string path);
void start_set_acl(const core_pointer&, receiver<node_stat>, std::string path, acl,
                   std::int32_t expected_version);
void start_commit(const core_pointer&, receiver<transaction_result>, transaction);
void start_read(const core_pointer&, receiver<std::vector<read_result>>, read_group);
void start_add_auth(const core_pointer&, receiver<void>, credentials);
void start_who_am_i(const core_pointer&, receiver<std::vector<identity>>);
void start_ephemerals(const core_pointer&, receiver<std::vector<std::string>>, std::string prefix);
void start_count_descendants(const core_pointer&, receiver<std::int32_t>, std::string path);
void start_add_watch(const core_pointer&, receiver<void>, std::string path, watch_mode, watcher);
void start_remove_watch(const core_pointer&, receiver<void>, std::string path, watch_kind, watcher);
void start_close(const core_pointer&, receiver<void>);

// Object is the core of a client, lock, queue or claim.
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

// Keeps a session listener registered. After the destructor has returned, the listener is not
// running and is not called again. If the listener itself destroys the subscription, its current
// call continues, but it is not called again.
class [[nodiscard]] subscription {
 public:
  subscription() = default;
  explicit subscription(std::shared_ptr<void> token) : token_{std::move(token)} {}

 private:
  std::shared_ptr<void> token_;
};

class client {
 public:
  // Starts to connect and returns at once. `hosts` is a connect string, see connect_string.hpp.
  // Throws errc::bad_connect_string, or errc::tls_failed if a certificate or key cannot be read.
  // Throws errc::invalid_argument or errc::not_supported if an option is not valid.
  explicit client(std::string_view hosts, const client_options& options = {});
  client(context& shared, std::string_view hosts, const client_options& options = {});

  // Closes the session like close(). A client without a shared context also stops its I/O thread.
  // This takes up to two seconds if a host name is being resolved. A moved-from client may only be
  // destroyed or assigned to.
  ~client();
  client(client&&) noexcept;
  client& operator=(client&&) noexcept;

  // Closes the session. The server deletes the session's ephemeral nodes, and all pending
  // operations complete. Waits for the server's confirmation for at most a third of the session
  // timeout. If the request to close does not reach the server, the server expires the session
  // after the session timeout. When close() returns, all handlers and watchers on the I/O thread
  // have run. If close() is called on the I/O thread, it does not wait.
  void close() noexcept;

  // --- the session

  // Waits until the client is connected. Returns false if it is not connected within `limit`.
  bool wait_connected(std::chrono::nanoseconds limit);

  session_state state() const;
  std::int64_t session_id() const;  // 0 if there is no session
  // Returns the timeout that the server has granted. Before the first connection, returns the
  // requested timeout.
  std::chrono::milliseconds session_timeout() const;
  bool read_only() const;  // connected to a server that accepts only reads

  // Returns the session deadline. Until this time, a single server cannot expire the session. The
  // client counts the session timeout from the moment it *sent* the last request that was answered,
  // and subtracts a tenth as a safety margin. Once this time has passed, the session may have
  // expired. Returns time_point::min() if there is no session.
  //
  // On an ensemble this is best effort. A server can lose contact with the leader, or fail, before
  // the leader learns of the client's request. The leader then counts from an earlier request. Use
  // fencing tokens (node_stat::czxid) where this matters.
  //
  // On the Unix socket of the embedded server, the session does not expire while the connection is
  // open. The function then returns time_point::max().
  boot_clock::time_point session_deadline() const;

  // Calls the listener on the I/O thread for each session event from now on.
  subscription on_session_event(std::function<void(const session_event&)> listener);

  // The I/O thread's executor. Handlers without an associated executor run there.
  using executor_type = boost::asio::any_io_executor;
  executor_type get_executor() const;

  // Requests that are started during the lifetime of a batch are sent together, in one write, when
  // the batch is destroyed. If a blocking call is made, or if a lock, election or queue sends a
  // request, the requests collected so far are sent together with it.
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
  //
  // Frequent errors are errc::no_node, errc::no_auth, errc::node_exists (create), errc::not_empty
  // (remove) and errc::bad_version (the node does not have `expected_version`). A watcher that is
  // passed to a read is called once, for the next change (watch.hpp).

  create_result create(std::string path, std::string data = {}, create_options options = {});
  template <class Token>
  auto async_create(std::string path, std::string data, create_options options, Token&& token) {
    return detail::initiate<create_result>(core_, &detail::start_create, std::forward<Token>(token),
                                           std::move(path), std::move(data), std::move(options));
  }

  void remove(std::string path, std::int32_t expected_version = any_version);
  template <class Token>
  auto async_remove(std::string path, std::int32_t expected_version, Token&& token) {
    return detail::initiate<void>(core_, &detail::start_remove, std::forward<Token>(token),
                                  std::move(path), expected_version);
  }

  // Returns nullopt if the node does not exist. The watcher is then notified when the node is
  // created.
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

  node_stat set(std::string path, std::string data, std::int32_t expected_version = any_version);
  template <class Token>
  auto async_set(std::string path, std::string data, std::int32_t expected_version, Token&& token) {
    return detail::initiate<node_stat>(core_, &detail::start_set, std::forward<Token>(token),
                                       std::move(path), std::move(data), expected_version);
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

  // After sync(), this client's reads show everything that any client wrote before this call.
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

  // `expected_version` is a version of the ACL (node_stat::aversion).
  node_stat set_acl(std::string path, acl list, std::int32_t expected_version = any_version);
  template <class Token>
  auto async_set_acl(std::string path, acl list, std::int32_t expected_version, Token&& token) {
    return detail::initiate<node_stat>(core_, &detail::start_set_acl, std::forward<Token>(token),
                                       std::move(path), std::move(list), expected_version);
  }

  // Returns the paths of this session's ephemeral nodes that start with `prefix`.
  std::vector<std::string> ephemerals(std::string prefix = "/");
  template <class Token>
  auto async_ephemerals(std::string prefix, Token&& token) {
    return detail::initiate<std::vector<std::string>>(
        core_, &detail::start_ephemerals, std::forward<Token>(token), std::move(prefix));
  }

  // Returns the number of nodes below this node, at any depth.
  std::int32_t count_descendants(std::string path);
  template <class Token>
  auto async_count_descendants(std::string path, Token&& token) {
    return detail::initiate<std::int32_t>(core_, &detail::start_count_descendants,
                                          std::forward<Token>(token), std::move(path));
  }

  // --- transactions and groups of reads

  // If the server refuses a part, commit() throws transaction_error, which contains the results of
  // all parts. async_commit() then completes with the error of the failed part and with these
  // results. use_awaitable and use_future throw in this case, so the results are lost.
  // as_tuple(use_awaitable) returns them. If a part has invalid arguments, nothing is sent and
  // there are no results. An empty transaction succeeds.
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

  // --- persistent watches

  void add_watch(std::string path, watch_mode mode, watcher w);
  template <class Token>
  auto async_add_watch(std::string path, watch_mode mode, watcher w, Token&& token) {
    return detail::initiate<void>(core_, &detail::start_add_watch, std::forward<Token>(token),
                                  std::move(path), mode, std::move(w));
  }

  // Removes the watcher from this path's watches of the given kind. If `w` is empty, removes all
  // watchers of that kind that the program has set. The watches of locks, queues and elections
  // remain. Use watch_kind::any for watches set by add_watch(). If no other watcher of this client
  // needs the watch, it is also removed from the server. Throws errc::no_watcher if there is no
  // such watch.
  void remove_watch(std::string path, watch_kind kind, watcher w = {});
  template <class Token>
  auto async_remove_watch(std::string path, watch_kind kind, watcher w, Token&& token) {
    return detail::initiate<void>(core_, &detail::start_remove_watch, std::forward<Token>(token),
                                  std::move(path), kind, std::move(w));
  }

  // --- authentication

  // Adds credentials to client_options::credentials, for this and all later connections. The scheme
  // "sasl" fails with errc::not_supported.
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
  friend struct client_impl::core_access;
  detail::core_pointer core_;
};

}  // namespace conclave
