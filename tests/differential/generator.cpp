#include "differential/generator.hpp"

#include <deque>
#include <utility>

#include "differential/avoidance.hpp"
#include "differential/random_operations.hpp"
#include "differential/random_source.hpp"

namespace conclave::differential {
namespace {

using wire::opcode;

// Slow steps are rare.
constexpr std::size_t steps_per_expiry = 1250;
constexpr std::size_t steps_per_restart = 3000;

class generator {
 public:
  explicit generator(const plan& p) : plan_{p}, random_{p.seed}, operations_{random_, p.slots} {}

  std::vector<step> run() {
    std::vector<step> steps;
    for (std::size_t i = 0; i < plan_.steps; ++i) {
      if (plan_.with_restarts && i % steps_per_restart == steps_per_restart / 2)
        steps.push_back(of(action::restart));
      else if (i % steps_per_expiry == steps_per_expiry / 2)
        steps.push_back(expiry());
      else
        steps.push_back(returns_.empty() || random_.chance(80) ? any_step() : return_of_one());
    }
    return steps;
  }

 private:
  step of(action what) {
    step s;
    s.what = what;
    s.slot = random_.below(plan_.slots);
    s.number = random_.one_of({30'000, 45'000, 60'000, 1'000'000});
    s.old_client = random_.chance(20);
    return s;
  }

  step any_step() {
    // Watches end with their connection, so connections must last some time.
    switch (random_.weighted_index({880, 40, 35, 4, 12, 8, 2, 3, 2, 3, 1})) {
      case 0: return sending({operations_.any()});
      case 1: return burst();
      case 2: return sending({operations_.odd()});
      case 3: {
        operation o;
        o.type = opcode::close_session;
        return sending({o});
      }
      case 4: return sending({operations_.authentication()});
      case 5: return disconnect_for_a_while();
      case 6: return of(action::reconnect);
      case 7: return of(action::use_wrong_password);
      case 8: return of(action::use_future_zxid);
      case 9: return of(action::take_over);
      default: {
        auto s = of(action::bad_length);
        s.number = random_.one_of<std::int32_t>(
            {0, 1, 4, 7, -1, -2, 0x100000, 2'147'483'647, -2'147'483'647 - 1});
        return s;
      }
    }
  }

  step sending(std::vector<operation> operations) {
    auto s = of(action::send);
    s.operations = std::move(operations);
    return s;
  }

  step burst() {
    std::vector<operation> operations;
    for (std::size_t n = 2 + random_.below(6); n > 0; --n)
      if (operations.empty() || may_be_followed(operations.back()))
        operations.push_back(operations_.any());
    return sending(std::move(operations));
  }

  step expiry() {
    auto s = of(action::expire);
    s.number = 1;  // as short as the server allows
    for (std::size_t n = random_.below(4); n > 0; --n) {
      auto o = operations_.creation(opcode::create);
      o.flags = random_.one_of({1, 3});
      s.operations.push_back(o);
    }
    return s;
  }

  // Like a client that reconnects and sets its watches again.
  step return_of_one() {
    auto s = returns_.front();
    returns_.pop_front();
    return s;
  }

  step disconnect_for_a_while() {
    auto leaves = of(action::disconnect);
    auto comes_back = of(action::reconnect);
    auto asks = sending({operations_.set_watches()});
    asks.operations.front().since = {zxid_ref::kind::seen_before, 0};
    comes_back.slot = asks.slot = leaves.slot;
    returns_.push_back(comes_back);
    returns_.push_back(asks);
    return leaves;
  }

  plan plan_;
  random_source random_;
  random_operations operations_;
  std::deque<step> returns_;
};

}  // namespace

std::vector<step> steps_of(const plan& p) { return generator{p}.run(); }

}  // namespace conclave::differential
