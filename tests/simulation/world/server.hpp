// The embedded server's core on a simulated disk, and hands that reach into the tree.
//
// Nothing here has a clock or a network: a turn is given the time, and what it has to send is
// handed on at its end, after what changed was stored.
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

using instant = std::chrono::nanoseconds;  // since the beginning of the world

class server {
 public:
  using connection_id = server_impl::connection_id;

  server(server_impl::core_options options, std::uint64_t seed, std::unique_ptr<storage> disk);
  server(const server&) = delete;
  server& operator=(const server&) = delete;

  // Who gets what a turn has to send. `last`: the connection ends behind it.
  std::function<void(connection_id, std::string bytes, bool last)> output;
  // A session that the server itself ended.
  std::function<void(std::int64_t session)> expired;
  // The power failed in the middle of a turn: nobody is told what it did.
  std::function<void()> failed;

  bool up() const noexcept { return core_ != nullptr; }
  // Everything in memory is gone; what was stored stays.
  void crash();
  void crash_in_next_commit(std::uint64_t seed) { disk_->fail_in_next_commit(seed); }
  void forget_commit_fault() { disk_->forget_fault(); }
  void start(instant now);
  int generation() const noexcept { return generation_; }  // how often it was started

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

  // The number of the next sequential child. For a server that is down.
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

// Somebody who is always connected and answered at once: an operator, a contender of another
// library, whoever writes over our data. Its session lives as long as it does.
class hand {
 public:
  explicit hand(server& s, bool super = false) : server_{s}, super_{super} {}
  ~hand();
  hand(const hand&) = delete;
  hand& operator=(const hand&) = delete;

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
  // The path with the number that the server gave it.
  std::string create_numbered(std::string_view path, std::string_view data = {});
  error_code remove(std::string_view path);
  error_code set(std::string_view path, std::string_view data);
  bool exists(std::string_view path);
  get_result get(std::string_view path);
  std::vector<std::string> children(std::string_view path);  // sorted; none if there is no node
  void end();                                                // its session and its nodes go

 private:
  wire::reply_header exchange_frame(const std::string& frame, std::string& body);
  std::string turn(const std::function<void(server_impl::core&)>& work);
  void connect();

  server& server_;
  bool super_;
  requests::defaults defaults_{{}, open_acl()};
  server_impl::connection_id id_ = 0;
  int generation_ = 0;  // of the server it is connected to
};

}  // namespace conclave::simulated
