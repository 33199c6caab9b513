// Faults of every kind that a simulated world has, again and again, and their end.
#pragma once

#include <functional>
#include <random>
#include <utility>
#include <vector>

#include "world.hpp"

namespace conclave::simulated {

class trouble {
 public:
  // Requests of these kinds and their replies are lost in particular. `victim`: whom the next fault
  // hits; anybody, if there is none.
  using choice = std::function<simulated::client*()>;
  trouble(world& w, std::uint64_t seed, std::vector<wire::opcode> targets, choice victim = {})
      : world_{w}, random_{seed}, targets_{std::move(targets)}, victim_{std::move(victim)} {}

  // Until heal(), with pauses between that are up to this long.
  void begin(instant most_between) {
    world_.after(within(most_between), [this, most_between] {
      if (over_) return;
      ++count_;
      auto* chosen = victim_ ? victim_() : nullptr;
      strike(chosen ? *chosen : world_.client(draw(world_.clients())));
      begin(most_between);
    });
  }

  void heal() {
    over_ = true;
    if (!world_.server().up()) world_.start_server();
    for (std::size_t i = 0; i < world_.clients(); ++i) {
      auto& c = world_.client(i);
      c.forget_fault();
      c.refuse_connections(false);
      c.stall(false);
      if (c.paused()) c.resume();
    }
  }

  int count() const noexcept { return count_; }
  int restarts() const noexcept { return restarts_; }
  int pauses() const noexcept { return pauses_; }

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
    switch (draw(10)) {
      case 0:
        ++restarts_;
        world_.stop_server();
        world_.after(within(chance(4) ? 6s : 500ms), [this] {
          if (!world_.server().up()) world_.start_server();
        });
        break;
      case 1:
        ++pauses_;
        link.pause();
        world_.after(while_it_lasts, [&link] { link.resume(); });
        break;
      case 2:
        link.stall(true);
        world_.after(while_it_lasts, [&link] { link.stall(false); });
        break;
      case 3:
        link.refuse_connections(true);
        link.cut(how);
        world_.after(while_it_lasts, [&link] { link.refuse_connections(false); });
        break;
      case 4:
      case 5: link.swallow_reply(targets_[draw(targets_.size())], how); break;
      case 6: link.swallow_request(targets_[draw(targets_.size())], how); break;
      case 7:
        link.cut_after_bytes(chance(2) ? direction::up : direction::down, 1 + draw(300), how);
        break;
      case 8:
        link.cut_after_frames(chance(2) ? direction::up : direction::down, 1 + draw(6), how);
        break;
      default: link.cut(how);
    }
  }

  world& world_;
  std::mt19937_64 random_;
  std::vector<wire::opcode> targets_;
  choice victim_;
  bool over_ = false;
  int count_ = 0, restarts_ = 0, pauses_ = 0;
};

}  // namespace conclave::simulated
