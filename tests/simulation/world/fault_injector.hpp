// Injects random faults of all kinds into a simulated world, and heals them.
#pragma once

#include <functional>
#include <iterator>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simulation/world/world.hpp"

namespace conclave::simulated {

class fault_injector {
 public:
  struct options {
    // The types of requests that are dropped, or whose replies are dropped.
    std::vector<wire::opcode> targets;
    // Chooses the client for the next fault. If null or empty, a random client is used.
    std::function<simulated::client*()> victim = {};
    // Called after a client was killed. If empty, no client is killed.
    std::function<void(simulated::client&)> killed = {};
    // Called with the kind of the next fault.
    std::function<void(const char*)> on_fault = {};
  };
  fault_injector(world& w, std::uint64_t seed, options o)
      : world_{w}, random_{seed}, options_{std::move(o)} {}

  // Injects faults until heal(), at most `most_between` apart.
  void start(instant most_between) {
    world_.after(within(most_between), [this, most_between] {
      if (over_) return;
      ++count_;
      auto* chosen = options_.victim ? options_.victim() : nullptr;
      inject(chosen ? *chosen : world_.client(draw(world_.clients())));
      start(most_between);
    });
  }

  void heal() {
    over_ = true;
    world_.write_trace([] { return "--- all faults are healed"; });
    world_.forget_commit_fault();
    if (!world_.server().up()) world_.start_server();
    for (std::size_t i = 0; i < world_.server_addresses(); ++i) world_.unblock_address(i);
    for (std::size_t i = 0; i < world_.clients(); ++i) {
      auto& c = world_.client(i);
      c.forget_fault();
      c.refuse_connections(false);
      c.stall(false);
      c.end_write_limit();
      if (c.paused()) c.resume();
    }
  }

  // The names of all kinds of faults.
  static std::set<std::string> all() { return {std::begin(kinds), std::end(kinds)}; }

  std::uint64_t count() const noexcept { return count_; }
  std::uint64_t restarts() const noexcept { return restarts_; }
  std::uint64_t pauses() const noexcept { return pauses_; }
  std::uint64_t kills() const noexcept { return kills_; }

 private:
  std::uint64_t draw(std::uint64_t below) { return random_() % below; }
  bool chance(std::uint64_t one_in) { return draw(one_in) == 0; }
  instant within(instant most) {
    return instant{static_cast<std::int64_t>(draw(static_cast<std::uint64_t>(most.count())))};
  }

  void inject(simulated::client& link) {
    using namespace std::chrono_literals;
    const disconnect_style how{chance(2), chance(2)};
    const auto duration = within(chance(2) ? 9s : 500ms);
    if (!world_.server().up()) start_server_later();
    const auto which = draw(14);
    if (options_.on_fault) options_.on_fault(kinds[which]);
    switch (which) {
      case 0:
        world_.stop_server();
        start_server_later();
        break;
      case 1:
        world_.fail_in_next_commit(random_());
        break;  // a later fault starts the server again
      case 2: {
        const auto address = draw(world_.server_addresses());
        world_.block_address(address);
        world_.after(duration, [this, address] { world_.unblock_address(address); });
        break;
      }
      case 3:
        ++pauses_;
        link.pause();
        world_.after(duration, [&link] { link.resume(); });
        break;
      case 4:
        link.stall(true, chance(2));
        world_.after(duration, [&link] { link.stall(false); });
        break;
      case 5:
        link.refuse_connections(true);
        link.disconnect(how);
        world_.after(duration, [&link] { link.refuse_connections(false); });
        break;
      case 6:
      case 7: link.drop_reply(options_.targets[draw(options_.targets.size())], how); break;
      case 8: link.drop_request(options_.targets[draw(options_.targets.size())], how); break;
      case 9:
        link.disconnect_after_bytes(chance(2) ? direction::up : direction::down, 1 + draw(300),
                                    how);
        break;
      case 10:
        link.disconnect_after_frames(chance(2) ? direction::up : direction::down, 1 + draw(6), how);
        break;
      case 11:
        link.limit_writes(draw(4));
        world_.after(duration, [&link, how, disconnects = !chance(4)] {
          if (disconnects) link.disconnect(how);
          link.end_write_limit();
        });
        break;
      case 12:
        if (options_.killed && !link.killed() && chance(2)) {
          ++kills_;
          link.kill(how.requests_arrive);
          options_.killed(link);
          break;
        }
        [[fallthrough]];
      default: link.disconnect(how);
    }
  }

  static constexpr const char* kinds[]{"server_stopped",
                                       "power_failed",
                                       "address_blocked",
                                       "client_stopped",
                                       "stalled",
                                       "refused",
                                       "reply_lost",
                                       "reply_lost",
                                       "request_lost",
                                       "disconnected_at_byte",
                                       "disconnected_at_frame",
                                       "unsent",
                                       "killed_or_disconnected",
                                       "disconnected"};

  void start_server_later() {
    using namespace std::chrono_literals;
    ++restarts_;
    world_.after(within(chance(4) ? 6s : 500ms), [this] {
      if (!world_.server().up()) world_.start_server();
    });
  }

  world& world_;
  std::mt19937_64 random_;
  options options_;
  bool over_ = false;
  std::uint64_t count_ = 0, restarts_ = 0, pauses_ = 0, kills_ = 0;
};

}  // namespace conclave::simulated
