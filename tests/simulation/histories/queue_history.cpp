#include "simulation/histories/queue_history.hpp"

#include <algorithm>
#include <list>
#include <memory>
#include <optional>
#include <set>

#include "checkers/exclusion.hpp"
#include "checkers/queue_account.hpp"
#include "recipes/queue/consumer.hpp"
#include "recipes/queue/producer.hpp"
#include "simulation/world/fault_injector.hpp"
#include "simulation/world/message_text.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;
using checkers::queue_account;
using recipes::consumer;
using recipes::producer;
using scope = recipes::session_context::scope;

const error_code cancelled{ECANCELED, boost::system::system_category()};

bool is_outcome_unknown(error_code ec) {
  return ec == errc::session_expired || ec == errc::connection_loss;
}

world_options with_reaping(world_options w, bool reaps) {
  if (reaps) w.server.reap_interval = 100ms;
  return w;
}

class queue_history : random_choices {
 public:
  queue_history(consumer::mode mode, const history_options& o, tally& t)
      : random_choices{o.seed * 2 + (mode == consumer::mode::claim)},
        mode_{mode},
        impatient_{o.impatient()},
        in_container_{o.seed % 5 == 3},  // not drawn: see impatient()
        written_by_hand_{o.seed % 3 == 1},
        tally_{t},
        world_{with_reaping(any_world(*this, o), in_container_)} {
    world_.trace = o.trace;
    if (!world_.wait_until_connected()) report_violation("not every client could connect");
    for (std::size_t i = 0; i < world_.clients(); ++i) users_.push_back(make(world_.client(i)));
  }

  std::vector<std::string> run() {
    // The folder must be empty often, and claiming is slow.
    const bool only_curator_produces =
        in_container_ && (chance(2) || mode_ == consumer::mode::claim);
    if (in_container_) produce_as_curator();
    if (written_by_hand_) write_by_hand();
    for (std::size_t i = 0; i < users_.size(); ++i) {
      const bool produces = i == 0 || chance(2);
      begin(users_[i], produces && !only_curator_produces, i + 1 == users_.size() || chance(2));
    }
    if (!calm_) faults_.start(400ms);
    world_.advance(end_);
    over_ = true;
    faults_.heal();
    if (!world_.run_until([&] { return all_completed(); }, 2h))
      report_violation("a push or a claim did not complete");
    if (!world_.run_until([&] { return no_consumer_waits() || all_items_claimed(); }, 2min))
      report_violation("a consumer waits although the queue has an item");
    world_.advance(5s);
    for (auto& u : users_) {
      if (u->client->killed()) continue;
      for (const auto& c : u->calls)
        if (c->gave_up) report_violation("a call that gave up did not complete");
      close(*u);
    }
    // The nodes of killed clients are removed with their sessions.
    world_.advance(faults_.kills() > 0 ? instant{45s} : instant{5s});
    for (const auto& u : users_) {
      if (u->client->killed()) continue;
      if (!u->calls.empty()) report_violation("a call did not complete");
      for (const auto& left : u->client->leftovers()) report_violation(left);
    }
    drain();
    account_.close();
    count();
    auto wrong = violations_;
    world_.finish();  // completes the calls of killed clients, which use this object
    return wrong;
  }

 private:
  struct pending_call {
    consumer::caller_ptr who;
    bool gave_up = false;
  };
  struct user {
    simulated::client* client;
    std::shared_ptr<recipes::producer> producer;
    std::shared_ptr<recipes::consumer> consumer;
    // Not completed yet.
    std::list<std::vector<std::string>> pushes;
    std::list<std::shared_ptr<pending_call>> calls;
    std::list<std::string> completions;
    int claims = 0;
    bool produces = false, consumes = false;
    bool outcome_unknown = false;  // of an earlier pop
    std::string last;              // the name of the last popped item
  };
  using user_ptr = std::shared_ptr<user>;

  void report_violation(const std::string& what) {
    world_.write_trace([&] { return "WRONG: " + what; });
    violations_.push_back(what);
  }

  user_ptr make(simulated::client& c) {
    const auto p = c.shared_from_this();
    auto u = std::make_shared<user>();
    u->client = &c;
    u->producer = std::make_shared<producer>(p, names_, chance(4) ? 3 : 0, 1 << 20);
    u->consumer = std::make_shared<consumer>(p, names_, consumer::options{mode_, 0, "user"});
    return u;
  }
  void begin(const user_ptr& u, bool produces, bool consumes) {
    u->produces = produces;
    u->consumes = consumes;
    consumers_ += u->consumes;
    if (u->produces) produce(u);
    if (u->consumes) consume(u);
  }
  static void close(user& u) {
    const scope inside{*u.client};
    u.producer->close(cancelled);
    u.consumer->close(cancelled);
  }
  // A stopped process calls `f` when it is resumed, a killed one never.
  void later(const user_ptr& u, instant d, std::function<void()> f) {
    world_.after(d, [this, u, f = std::move(f)] {
      if (u->client->killed()) return;
      if (u->client->paused()) return later(u, 10ms, f);
      f();
    });
  }
  bool all_completed() const {
    for (const auto& u : users_)
      if (!u->client->killed() && (!u->pushes.empty() || u->claims > 0)) return false;
    return true;
  }

  bool no_consumer_waits() const {
    for (const auto& u : users_)
      if (!u->client->killed())
        for (const auto& c : u->calls)
          if (!c->gave_up) return false;
    return true;
  }
  bool all_items_claimed() {
    auto& hand = world_.by_hand();
    const auto claims = hand.children(names_->claims());
    for (const auto& name : hand.children(names_->items()))
      if (names_->parse(name) && !std::binary_search(claims.begin(), claims.end(), name))
        return false;
    return true;
  }

  // --- changes by hand

  // Writes the data that a node already has. Its version changes, and no watch on children fires.
  void write_by_hand() {
    world_.after(within(300ms), [this] {
      if (over_) return;
      if (world_.server().up()) {
        auto& hand = world_.by_hand();
        const auto items = hand.children(names_->items());
        const auto node = items.empty() || chance(3)
                              ? names_->items()
                              : names_->items() + '/' + items[draw(items.size())];
        tally_["written by hand"] += !hand.set(node, hand.get(node).data);
      }
      write_by_hand();
    });
  }

  // --- producers

  void produce(const user_ptr& u) {
    later(u, within(chance(3) ? 5ms : 400ms), [this, u] {
      if (over_) return;
      const auto what = std::make_shared<producer::push_request>();
      for (auto n = 1 + draw(3); n > 0; --n) what->items.push_back(std::to_string(++last_));
      what->priority = default_priority;
      const auto pending = u->pushes.insert(u->pushes.end(), what->items);
      what->complete = [this, u, pending](error_code ec) {
        const auto f = !ec                      ? queue_account::fate::done
                       : is_outcome_unknown(ec) ? queue_account::fate::unknown
                                                : queue_account::fate::refused;
        for (const auto& item : *pending) account_.pushed(item, f);
        tally_["pushes with unknown outcome"] += is_outcome_unknown(ec);
        u->pushes.erase(pending);
      };
      {
        const scope inside{*u->client};
        u->producer->push(what);
      }
      produce(u);
    });
  }

  // Pushes as Curator's SimpleDistributedQueue does. Its folder is a container: the server removes
  // it when it is empty, and the numbering of names then restarts.
  void produce_as_curator() {
    if (world_.server().up()) push_as_curator();
    world_.after(within(chance(3) ? 100ms : 5ms), [this] {
      if (!over_) produce_as_curator();
    });
  }
  void push_as_curator() {
    auto& hand = world_.by_hand();
    if (chance(4)) remove_empty_folder();
    const bool made = !hand.create(names_->items(), {}, create_mode::container);
    tally_["containers"] += made;
    if (!made && !chance(mode_ == consumer::mode::claim ? 400 : 20)) return;
    for (auto n = 1 + draw(3); n > 0; --n) {
      const auto item = std::to_string(++last_);
      const auto ec =
          hand.create(names_->items() + "/qn-", item, create_mode::persistent_sequential);
      account_.pushed(item, !ec                   ? queue_account::fate::done
                            : ec == errc::no_node ? queue_account::fate::refused
                                                  : queue_account::fate::unknown);
    }
  }
  // The server does this when no consumer has an identity node in the folder. An operator can
  // always do it.
  void remove_empty_folder() {
    auto& hand = world_.by_hand();
    for (const auto& name : hand.children(names_->items()))
      if (names_->parse(name)) return;
    if (hand.get(names_->items()).data == names_->folder_data()) return;
    for (const auto& name : hand.children(names_->identities()))
      hand.remove(names_->identities() + '/' + name);
    hand.remove(names_->identities());
    hand.remove(names_->items());
  }

  bool pushing() const {
    for (const auto& u : users_)
      if (!u->client->killed() && !u->pushes.empty()) return true;
    return false;
  }

  // --- consumers

  void consume(const user_ptr& u) {
    later(u, within(chance(3) ? 5ms : 400ms), [this, u] {
      if (over_ && !pushing()) return;  // pushes may wait for capacity
      const auto call = std::make_shared<pending_call>();
      call->who = std::make_shared<consumer::caller>();
      call->who->waits = !chance(4);
      const auto pending = u->calls.insert(u->calls.end(), call);
      call->who->complete = [this, u, pending](error_code ec,
                                               std::optional<consumer::acquired_item> got) {
        u->calls.erase(pending);
        if (got)
          arrived(u, *got);
        else if (is_outcome_unknown(ec))
          note_unknown_outcome(u);
        else if (impatient_ && ec == errc::not_connected)
          ++tally_["not connected"];
        else if (ec && ec.value() != ECANCELED)
          report_violation("a consumer failed: " + ec.message());
      };
      {
        const scope inside{*u->client};
        u->consumer->acquire(call->who);
      }
      if (chance(4))
        later(u, within(300ms), [this, u, call] {
          const scope inside{*u->client};
          u->consumer->give_up(call->who, cancelled);
          ++tally_["gave up"];
          call->gave_up = true;
        });
      consume(u);
    });
  }

  void note_unknown_outcome(const user_ptr& u) {
    ++tally_["pops with unknown outcome"];
    u->outcome_unknown = true;
    // A claim removes no item.
    if (mode_ == consumer::mode::pop) account_.pop_outcome_unknown();
  }

  void arrived(const user_ptr& u, const consumer::acquired_item& got) {
    if (!got.claim) {
      in_order(u, got.item.name);
      return account_.delivered(got.item.data);
    }
    const auto c = got.claim;
    const auto id = reinterpret_cast<checkers::exclusion::id>(c.get());
    claims_[id] = {c, u->client};
    exclusion_.granted(c->item().data, id, {u->client->name()});
    ++u->claims;
    ++tally_["claims"];
    later(u, within(in_container_ ? 3ms : chance(5) ? 4s : 100ms), [this, u, c] { work(u, c); });
  }
  // A single consumer gets the items in the order of the queue, unless an outcome was unknown.
  void in_order(const user_ptr& u, const std::string& name) {
    if (consumers_ == 1 && !u->outcome_unknown && !in_container_ && name <= u->last)
      report_violation(name + " was popped after " + u->last);
    u->last = name;
  }

  void work(const user_ptr& u, const std::shared_ptr<recipes::claim>& c) {
    const scope inside{*u->client};
    // The consumer has stopped to use the item, whatever the server replies.
    exclusion_.ended(reinterpret_cast<checkers::exclusion::id>(c.get()));
    if (chance(3)) {
      ++tally_["claims released"];
      --u->claims;
      return c->release();
    }
    const auto pending = u->completions.insert(u->completions.end(), c->item().data);
    c->complete([this, u, pending](error_code ec) {
      --u->claims;
      if (!ec)
        account_.delivered(*pending);
      else if (ec == errc::session_expired)
        account_.delivery_unknown(*pending);
      else
        ++tally_["claims lost"];
      u->completions.erase(pending);
    });
  }

  // A consumer uses an item only before the deadline of its claim.
  bool still_has(checkers::exclusion::id which) {
    const auto& [c, client] = claims_.at(which);
    return !client->killed() && c->hold()->remaining() > recipes::duration{0};
  }

  // --- faults

  // The outcomes of its pending calls are unknown. Another process replaces it.
  void replace(simulated::client& dead) {
    bool produces = false, consumes = false;
    for (const auto& u : users_) {
      if (u->client != &dead) continue;
      produces = u->produces;
      consumes = u->consumes;
      for (const auto& items : u->pushes)
        for (const auto& item : items) account_.pushed(item, queue_account::fate::unknown);
      for (const auto& item : u->completions) account_.delivery_unknown(item);
      if (mode_ == consumer::mode::pop)
        for (std::size_t n = u->calls.size(); n > 0; --n) account_.pop_outcome_unknown();
      tally_["consumers of claims killed"] += u->claims > 0;
    }
    world_.after(within(2s), [this, produces, consumes] {
      users_.push_back(make(world_.add_client()));
      begin(users_.back(), produces, consumes);
    });
  }

  // --- the end

  // Empties the queue with a client that had no faults.
  void drain() {
    auto& c = world_.add_client();
    if (!world_.run_until([&] { return c.is_connected(); }))
      return report_violation("cannot connect");
    const auto u = make(c);
    bool empty = false;
    while (!empty && violations_.size() < 5) {
      bool completed = false;
      const auto who = std::make_shared<consumer::caller>();
      who->waits = false;
      who->complete = [&](error_code ec, std::optional<consumer::acquired_item> got) {
        completed = true;
        empty = !got;
        if (ec) report_violation("the last consumer failed: " + ec.message());
        if (got && !got->claim) account_.delivered(got->item.data);
        if (got && got->claim) {
          const scope inside{*u->client};
          got->claim->complete([this, data = got->claim->item().data](error_code why) {
            if (why) report_violation("the last claim failed: " + why.message());
            account_.delivered(data);
          });
        }
      };
      {
        const scope inside{*u->client};
        u->consumer->acquire(who);
      }
      if (!world_.run_until([&] { return completed; }))
        return report_violation("the last consumer did not complete");
    }
    world_.advance(1s);
    close(*u);
    world_.advance(1s);
    auto& hand = world_.by_hand();
    if (!hand.children(names_->items()).empty()) report_violation("items are left");
    for (const auto& folder :
         {names_->producers(), names_->consumers(), names_->waiting_consumers(),
          names_->waiting_producers(), names_->claims()})
      for (const auto& name : hand.children(folder))
        report_violation("left behind: " + folder + "/" + name);
    // A forgotten watch that another watcher needed is removed with the next change.
    for (const auto& folder : {names_->items(), names_->claims()})
      if (!hand.create(folder + "/change")) hand.remove(folder + "/change");
    world_.advance(1s);
    for (const auto& left : world_.leftover_watches()) report_violation(left);
  }

  void count() {
    ++tally_["histories"];
    tally_["calm"] += calm_;
    tally_["faults"] += faults_.count();
    tally_["server crashes"] += faults_.restarts();
    tally_["clients killed"] += faults_.kills();
    tally_["pushed"] += account_.pushes();
    tally_["delivered"] += account_.deliveries();
    tally_["unknown outcomes"] += account_.unknown();
  }

  consumer::mode mode_;
  bool impatient_;
  bool in_container_;
  bool written_by_hand_;
  tally& tally_;
  simulated::world world_;
  fault_injector faults_{world_,
                         number(),
                         {{wire::opcode::multi, wire::opcode::create2, wire::opcode::get_data,
                           wire::opcode::get_children2},
                          {},
                          [this](simulated::client& dead) { replace(dead); }}};
  std::shared_ptr<const recipes::queue_names> names_ =
      std::make_shared<recipes::queue_names>("/queue", queue_layout::zookeeper);
  std::vector<user_ptr> users_;
  struct claimed {
    std::shared_ptr<recipes::claim> claim;
    simulated::client* client = nullptr;
  };
  std::unordered_map<checkers::exclusion::id, claimed> claims_;
  checkers::queue_account account_{[this](const std::string& what) { report_violation(what); }};
  checkers::exclusion exclusion_{[this](const std::string& what) { report_violation(what); },
                                 [this](auto which) { return still_has(which); }};
  std::vector<std::string> violations_;
  instant end_ = chance(4) ? 10s : 3s;
  bool calm_ = chance(8);
  bool over_ = false;
  int last_ = 0, consumers_ = 0;
};

template <consumer::mode Mode>
std::vector<std::string> run(const history_options& o, tally& t) {
  return queue_history{Mode, o, t}.run();
}

}  // namespace

std::vector<workload> queue_workloads() {
  return {{"queue",
           run<consumer::mode::pop>,
           {"delivered", "pushes with unknown outcome", "pops with unknown outcome",
            "clients killed", "gave up", "calm", "not connected", "containers", "written by hand"}},
          {"claims",
           run<consumer::mode::claim>,
           {"delivered", "pushes with unknown outcome", "claims", "claims lost", "claims released",
            "consumers of claims killed", "gave up", "calm", "not connected", "containers",
            "written by hand"}}};
}

}  // namespace conclave::simulated
