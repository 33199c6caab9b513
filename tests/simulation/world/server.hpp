// The core of the embedded server on a simulated disk, and a client that calls it directly.
//
// The server has no clock and no network. The caller of a turn passes the time. At the end of the
// turn, the changes are stored, and then the replies are passed to `output`.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "conclave/error.hpp"
#include "requests/requests.hpp"
#include "server/core/core.hpp"
#include "simulation/world/storage.hpp"
#include "wire/frame.hpp"

namespace conclave::simulated {

using instant = std::chrono::nanoseconds;  // since the start of the simulation

class server {
 public:
  using connection_id = server_impl::connection_id;

  server(server_impl::core_options options, std::uint64_t seed, std::unique_ptr<storage> disk);
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  // Receives the output of a turn. If `last` is true, the server closes the connection after it.
  std::function<void(connection_id, std::string bytes, bool last)> output;
  // Called when the server has expired a session.
  std::function<void(std::int64_t session)> expired;
  // Called when the power failed during a turn. The replies of that turn are lost.
  std::function<void()> failed;

  bool up() const noexcept { return core_ != nullptr; }
  // Loses everything in memory. Stored data stays.
  void crash();
  void crash_in_next_commit(std::uint64_t seed) { disk_->fail_in_next_commit(seed); }
  void forget_commit_fault() { disk_->forget_fault(); }
  void start(instant now);
  int generation() const noexcept { return generation_; }  // the number of starts

  template <class F>
  void turn(instant now, F&& work) {
    now_ = now;
    core_->begin_turn(moment());
    work(*core_);
    end_turn();
  }
  instant next_deadline() const;
  connection_id new_connection() noexcept { return ++last_connection_; }
  server_impl::core& core() { return *core_; }
  instant now() const noexcept { return now_; }
  void clock(instant now) noexcept { now_ = now; }

  // Sets the sequence number of the next sequential child. The server must be down.
  void set_counter(const std::string& path, std::int32_t next);

 private:
  server_impl::moment moment() const;
  void end_turn();

  server_impl::core_options options_;
  std::mt19937_64 random_;
  instant now_{0};
  std::unique_ptr<storage> disk_;
  server_impl::store* store_ = nullptr;
  std::unique_ptr<server_impl::core> core_;
  int generation_ = 0;
  connection_id last_connection_ = 0;
};

// A client without a network: each request is executed and answered at once. Used for operators,
// contenders of other libraries and programs that overwrite nodes. Its session ends with the
// object.
class direct_client {
 public:
  explicit direct_client(server& s, bool super = false) : server_{s}, super_{super} {}
  ~direct_client();
  direct_client(const direct_client&) = delete;
  direct_client& operator=(const direct_client&) = delete;

  template <class Result>
  error_code ask(requests::request<Result> r, Result& into) {
    if (r.refused) return r.refused;
    std::string body;
    const auto header = exchange_frame(r.frame, body);
    wire::reader in{body};
    if (!r.read(defaults_, header, in, into)) return errc::protocol_error;
    return requests::verdict(
        r.type, header.error == 0 ? error_code{} : error_code{static_cast<errc>(header.error)},
        into);
  }

  error_code create(std::string_view path, std::string_view data = {},
                    const create_options& how = create_mode::persistent);
  // Creates an ephemeral sequential node. Returns its path, or an empty string if it failed.
  std::string create_sequential(std::string_view path, std::string_view data = {});
  error_code remove(std::string_view path);
  error_code set(std::string_view path, std::string_view data);
  bool exists(std::string_view path);
  get_result get(std::string_view path);
  std::vector<std::string> children(
      std::string_view path);  // sorted; empty if the node does not exist
  void end();                  // ends the session and removes its nodes

 private:
  wire::reply_header exchange_frame(const std::string& frame, std::string& body);
  std::string turn(const std::function<void(server_impl::core&)>& work);
  void connect();

  server& server_;
  bool super_;
  requests::defaults defaults_{{}, open_acl()};
  server_impl::connection_id id_ = 0;
  int generation_ = 0;  // the generation of the server to which it is connected
};

}  // namespace conclave::simulated
