// Faults of every kind that a simulated world has, again and again, and their end.
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

class trouble {
 public:
  struct plan {
    // Requests of these kinds and their replies are lost in particular.
    std::vector<wire::opcode> targets;
    // Whom the next fault hits; anybody, if there is none.
    std::function<simulated::client*()> victim = {};
    // Clients are killed: this one was. Without it they are not.
    std::function<void(simulated::client&)> killed = {};
    // What kind of fault comes next.
    std::function<void(const char*)> struck = {};
  };
  trouble(world& w, std::uint64_t seed, plan p) : world_{w}, random_{seed}, plan_{std::move(p)} {}

  // Until heal(), with pauses between that are up to this long.
  void begin(instant most_between) {
    world_.after(within(most_between), [this, most_between] {
      if (over_) return;
      ++count_;
      auto* chosen = plan_.victim ? plan_.victim() : nullptr;
      strike(chosen ? *chosen : world_.client(draw(world_.clients())));
      begin(most_between);
    });
  }

  void heal() {
    over_ = true;
    world_.tell([] { return "--- everything heals"; });
    world_.forget_commit_fault();
    if (!world_.server().up()) world_.start_server();
    for (std::size_t i = 0; i < world_.doors(); ++i) world_.open_door(i);
    for (std::size_t i = 0; i < world_.clients(); ++i) {
      auto& c = world_.client(i);
      c.forget_fault();
      c.refuse_connections(false);
      c.stall(false);
      c.end_write_limit();
      if (c.paused()) c.resume();
    }
  }

  // All kinds of faults.
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

  void strike(simulated::client& link) {
    using namespace std::chrono_literals;
    const cut_style how{chance(2), chance(2)};
    const auto while_it_lasts = within(chance(2) ? 9s : 500ms);
    if (!world_.server().up()) start_later();
    const auto which = draw(14);
    if (plan_.struck) plan_.struck(kinds[which]);
    switch (which) {
      case 0:
        world_.stop_server();
        start_later();
        break;
      case 1: world_.fail_in_next_commit(random_()); break;  // started by a later strike
      case 2: {
        const auto door = draw(world_.doors());
        world_.close_door(door);
        world_.after(while_it_lasts, [this, door] { world_.open_door(door); });
        break;
      }
      case 3:
        ++pauses_;
        link.pause();
        world_.after(while_it_lasts, [&link] { link.resume(); });
        break;
      case 4:
        link.stall(true, chance(2));
        world_.after(while_it_lasts, [&link] { link.stall(false); });
        break;
      case 5:
        link.refuse_connections(true);
        link.cut(how);
        world_.after(while_it_lasts, [&link] { link.refuse_connections(false); });
        break;
      case 6:
      case 7: link.swallow_reply(plan_.targets[draw(plan_.targets.size())], how); break;
      case 8: link.swallow_request(plan_.targets[draw(plan_.targets.size())], how); break;
      case 9:
        link.cut_after_bytes(chance(2) ? direction::up : direction::down, 1 + draw(300), how);
        break;
      case 10:
        link.cut_after_frames(chance(2) ? direction::up : direction::down, 1 + draw(6), how);
        break;
      case 11:
        link.limit_writes(draw(4));
        world_.after(while_it_lasts, [&link, how, is_cut = !chance(4)] {
          if (is_cut) link.cut(how);
          link.end_write_limit();
        });
        break;
      case 12:
        if (plan_.killed && !link.killed() && chance(2)) {
          ++kills_;
          link.kill(how.requests_arrive);
          plan_.killed(link);
          break;
        }
        [[fallthrough]];
      default: link.cut(how);
    }
  }

  static constexpr const char* kinds[]{
      "server_stopped", "power_lost", "door_closed",  "client_stopped", "stalled",        "refused",
      "reply_lost",     "reply_lost", "request_lost", "cut_at_a_byte",  "cut_at_a_frame", "unsent",
      "killed_or_cut",  "cut"};

  void start_later() {
    using namespace std::chrono_literals;
    ++restarts_;
    world_.after(within(chance(4) ? 6s : 500ms), [this] {
      if (!world_.server().up()) world_.start_server();
    });
  }

  world& world_;
  std::mt19937_64 random_;
  plan plan_;
  bool over_ = false;
  std::uint64_t count_ = 0, restarts_ = 0, pauses_ = 0, kills_ = 0;
};

}  // namespace conclave::simulated
