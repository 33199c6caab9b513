#include "simulation/histories/deadlock_history.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>

#include "client/inspect/find_recipes.hpp"
#include "conclave/wait_graph.hpp"
#include "recipes/contender_data.hpp"
#include "simulation/users/locker.hpp"
#include "simulation/world/fault_injector.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;

const std::vector<std::string> lock_paths{"/locks/a", "/locks/b", "/locks/c"};
constexpr const char* semaphore_path = "/slots/s";

// Reads the nodes of all locks, as inspect() does: first the lists of children, then the data.
class node_reader {
 public:
  explicit node_reader(direct_client& hand) : hand_{hand} {}

  // Reads one list or node. Returns false if everything was read.
  bool read_next() {
    if (next_path_ < paths_.size()) {
      list(paths_[next_path_++]);
      if (next_path_ == paths_.size()) find();
      return true;
    }
    if (next_node_ == nodes_.size()) return false;
    auto& e = *nodes_[next_node_++];
    const auto node = hand_.get(e.info.node);
    if (node.stat.czxid == 0)
      e.state = client_impl::listed_contender::presence::absent;
    else
      client_impl::set_node_info(e.info, node);
    return true;
  }

  inspection result() {
    inspection seen;
    for (auto& f : found_) {
      if (f.info.what == recipe_info::kind::semaphore)
        if (const auto n = recorded_permits(hand_.get(f.info.path)))
          f.info.permits = static_cast<int>(*n);
      client_impl::find_holders(f);
      auto r = client_impl::to_recipe_info(std::move(f));
      if (r.in_use()) seen.recipes.push_back(std::move(r));
    }
    return seen;
  }

 private:
  void list(const std::string& path) {
    if (hand_.exists(path)) tree_.nodes[path] = {hand_.children(path), hand_.get(path).stat};
  }
  void find() {
    found_ = client_impl::find_recipes(tree_, layouts_, false);
    for (auto& f : found_)
      for (auto* const list : {&f.holders, &f.wait_queue})
        for (auto& e : *list) nodes_.push_back(&e);
  }

  direct_client& hand_;
  const client_impl::known_layouts layouts_;
  const std::vector<std::string> paths_{"/locks/a", "/locks/b",       "/locks/c",
                                        "/slots/s", "/slots/s/locks", "/slots/s/leases"};
  client_impl::node_tree tree_;
  std::vector<client_impl::found_recipe> found_;
  std::vector<client_impl::listed_contender*> nodes_;
  std::size_t next_path_ = 0, next_node_ = 0;
};

class deadlock_history : random_choices {
 public:
  deadlock_history(const history_options& o, tally& t)
      : random_choices{o.seed * 16 + 11}, tally_{t}, c_{world_for(o)} {
    c_.world.trace = o.trace;
    c_.world.expired = [this](std::int64_t session) { c_.judge->expired(session); };
    const auto permits = 1 + draw(2);
    for (const auto& path : lock_paths)
      kinds_.push_back(chance(3) ? a_shared_mutex(path) : a_mutex({path}));
    kinds_.push_back(a_semaphore(semaphore_path, permits));
    if (chance(2)) kinds_.push_back(a_mutex({lock_paths[0], lock_paths[1]}));
    // A mutex and a shared_mutex may share a path.
    if (chance(2)) kinds_.push_back(a_shared_mutex(lock_paths[2]));
    for (std::size_t client = 0; client < c_.world.clients(); ++client)
      for (auto n = 1 + draw(2); n > 0; --n) add_task(client);
  }

  std::vector<std::string> run() {
    for (const auto& t : tasks_) act_later(*t);
    inspect_later();
    const bool calm = chance(4);
    if (!calm) faults_.start(400ms);
    c_.world.advance(chance(4) ? 20s : 5s);
    over_ = true;
    faults_.heal();
    resolve_the_rest();
    for (const auto& t : tasks_)
      for (const auto& l : t->lockers) l->close();
    c_.world.advance(3s);
    c_.judge->expect_nothing_left();
    ++tally_["histories"];
    tally_["faults"] += faults_.count();
    tally_["grants"] += static_cast<std::uint64_t>(c_.judge->grants);
    return c_.judge->violations();
  }

 private:
  struct task {
    std::string name;
    std::vector<locker_pointer> lockers;  // by kind
    struct use {
      std::size_t kind;
      call_pointer of;
    };
    std::vector<use> held;
    std::optional<use> waiting;
    std::size_t depth = 1;  // how many locks it acquires before it releases them
    bool done = false;
  };

  world_options world_for(const history_options& o) {
    auto options = any_world(*this, o);
    options.connect_wait = 10min;  // a call that fails without a connection ends a deadlock
    return options;
  }

  // --- tasks

  void add_task(std::size_t client) {
    const auto t = std::make_shared<task>();
    t->name = "task " + std::to_string(tasks_.size());
    lock_options o;
    o.owner = t->name;
    o.tickets = !chance(3);
    for (const auto& k : kinds_) {
      t->lockers.push_back(c_.add(client, k, o));
      t->lockers.back()->describe_wait = [weak = std::weak_ptr{t}, &k] {
        const auto self = weak.lock();
        wait_info w;
        w.task.may_hold_others = false;
        if (k.admission) w.permits = k.request.permits;
        if (self)
          for (const auto& h : self->held)
            if (!h.of->hold->ended()) w.task.certain.push_back(h.of->hold->id());
        return recipes::format_wait(w);
      };
    }
    t->depth = 1 + draw(3);
    tasks_.push_back(t);
  }

  // A paused process continues when it is resumed.
  void act_later(task& t) {
    c_.world.after(within(chance(3) ? 500ms : 50ms), [this, &t] {
      if (t.lockers[0]->client().paused()) return act_later(t);
      if (over_ || t.held.size() >= t.depth) return release(t);
      acquire(t);
    });
  }

  void acquire(task& t) {
    const auto kind = draw(kinds_.size());
    // A second call of the same object would wait for the first one without a node.
    for (const auto& h : t.held)
      if (h.kind == kind) return release(t);
    const auto& k = kinds_[kind];
    const auto as = k.request.role == role::writer && chance(2) ? role::reader : k.request.role;
    ++tally_["calls"];
    const auto call = t.lockers[kind]->lock(as);
    t.waiting = task::use{kind, call};
    call->on_completed = [this, &t] { completed(t); };
    if (call->completions > 0) completed(t);
  }

  void completed(task& t) {
    const auto ended = *std::exchange(t.waiting, {});
    if (ended.of->ec && !ended.of->gave_up)
      c_.judge->report_violation(t.name + " failed to acquire a lock");
    if (ended.of->ec) return release(t);
    t.held.push_back(ended);
    act_later(t);
  }

  void release(task& t) {
    for (auto h = t.held.rbegin(); h != t.held.rend(); ++h) t.lockers[h->kind]->unlock(h->of);
    t.held.clear();
    t.done = over_;
    if (t.done) return;
    t.depth = 1 + draw(3);
    act_later(t);
  }

  // --- the tool

  void inspect_later() {
    c_.world.after(within(300ms), [this] {
      if (!over_) read(std::make_shared<node_reader>(c_.world.by_hand()));
    });
  }

  void read(const std::shared_ptr<node_reader>& reader) {
    if (!c_.world.server().up() || over_) return inspect_later();
    if (!reader->read_next()) return judge_and_confirm(wait_graph{reader->result()}.deadlocks());
    c_.world.after(chance(2) ? instant{0} : within(10ms), [this, reader] { read(reader); });
  }

  // All first reads have ended, and no second one has begun.
  void judge_and_confirm(std::vector<deadlock> found) {
    std::vector<std::optional<std::string>> wrong;
    for (const auto& d : found) wrong.push_back(why_not(d));
    c_.world.after(within(10ms), [this, found = std::move(found), wrong = std::move(wrong)] {
      inspect_later();
      if (!c_.world.server().up() || over_) return;
      for (std::size_t i = 0; i < found.size(); ++i) check(found[i], wrong[i]);
    });
  }

  void check(const deadlock& d, const std::optional<std::string>& wrong) {
    if (!d.certain) {  // for example, the number of permits is not recorded yet
      ++tally_["only possible"];
      return;
    }
    if (!exists(d)) {
      ++tally_["not confirmed"];
      if (wrong) ++tally_["refuted"];
      return;
    }
    if (wrong) return c_.judge->report_violation("not a deadlock: " + explain(d) + ": " + *wrong);
    count(d);
    if (resolves_ && chance(2)) resolve(d);
  }

  bool exists(const deadlock& d) {
    const auto same = [&](const contender_info& c) {
      return c_.world.by_hand().get(c.node).stat.czxid == c.fencing_token;
    };
    return std::all_of(d.members.begin(), d.members.end(), [&](const deadlock::member& m) {
      return same(m.waits_for.contender) &&
             std::all_of(m.holds.begin(), m.holds.end(),
                         [&](const auto& h) { return same(h.contender); });
    });
  }

  void count(const deadlock& d) {
    ++tally_["deadlocks found"];
    if (d.members.size() == 1) ++tally_["deadlocks of one task"];
    if (d.members.size() > 2) ++tally_["deadlocks of three tasks"];
    for (const auto& m : d.members) {
      if (m.waits_for.what == recipe_info::kind::semaphore) ++tally_["deadlocks with permits"];
      if (m.waits_for.contender.role == role::reader) ++tally_["deadlocks with readers"];
      for (const auto& h : m.holds)
        if (h.contender.id == m.waits_for.contender.id) ++tally_["deadlocks with several locks"];
    }
  }

  // --- the truth

  task& task_of(const contender_info& c) {
    return **std::find_if(tasks_.begin(), tasks_.end(),
                          [&](const auto& t) { return t->name == c.owner; });
  }
  bool uses(const task::use& u, const std::string& path) const {
    const auto all = kinds_[u.kind].resources();
    return std::find(all.begin(), all.end(), path) != all.end();
  }

  // Returns why the tasks do not wait for each other now, or nullopt if they do. A hold that was
  // lost, and a call that the history has ended, are interventions, after which nothing is certain.
  std::optional<std::string> why_not(const deadlock& d) {
    for (const auto& m : d.members) {
      const auto& t = task_of(m.waits_for.contender);
      // The nodes of a wait that the history has ended may exist until the client is connected.
      if (ended_.contains({t.name, m.waits_for.path})) return {};
      if (!t.waiting || !uses(*t.waiting, m.waits_for.path))
        return t.name + " does not wait for " + m.waits_for.path;
      for (const auto& h : m.holds) {
        if (uses(*t.waiting, h.path) && h.contender.id == m.waits_for.contender.id) continue;
        const auto held = std::find_if(t.held.begin(), t.held.end(), [&](const task::use& u) {
          return uses(u, h.path) && u.of->hold->id() == h.contender.id;
        });
        if (held == t.held.end()) return t.name + " does not hold " + h.path;
        if (held->of->lost()) ++tally_["lost holds"];
      }
    }
    return {};
  }

  void resolve(const deadlock& d) {
    const auto& m = d.members[draw(d.members.size())];
    auto& t = task_of(m.waits_for.contender);
    if (!t.waiting) return;
    for (const auto& path : kinds_[t.waiting->kind].resources()) ended_.emplace(t.name, path);
    t.lockers[t.waiting->kind]->give_up(t.waiting->of);
  }

  // Without faults, only a deadlock stops a task. Each one must be found.
  void resolve_the_rest() {
    const auto all_done = [&] {
      return std::all_of(tasks_.begin(), tasks_.end(), [](const auto& t) { return t->done; });
    };
    while (!c_.world.run_until(all_done, 2min)) {
      node_reader reader{c_.world.by_hand()};
      while (reader.read_next()) {
      }
      const auto found = wait_graph{reader.result()}.deadlocks();
      bool resolves = false;
      for (const auto& d : found) {
        if (!d.certain) continue;
        if (const auto wrong = why_not(d))
          return c_.judge->report_violation("not a deadlock: " + explain(d) + ": " + *wrong);
        count(d);
        ++tally_["deadlocks at the end"];
        resolve(d);
        resolves = true;
      }
      if (!resolves) return report_missed();
    }
  }

  void report_missed() {
    for (const auto& t : tasks_)
      if (!t->done)
        c_.judge->report_violation(
            t->name + " is stuck, and no deadlock is reported" +
            (t->waiting ? ": it waits for " + kinds_[t->waiting->kind].resources()[0] : ""));
  }

  tally& tally_;
  lock_world c_;
  fault_injector faults_{
      c_.world, number(), {{wire::opcode::create2, wire::opcode::multi, wire::opcode::remove}}};
  std::vector<lock_kind> kinds_;
  std::vector<std::shared_ptr<task>> tasks_;
  // Tasks and paths of waits that the history has ended.
  std::set<std::pair<std::string, std::string>> ended_;
  // In the other histories, deadlocks last until the end, so all reports can be judged.
  bool resolves_ = chance(2);
  bool over_ = false;
};

std::vector<std::string> run(const history_options& o, tally& t) {
  return deadlock_history{o, t}.run();
}

}  // namespace

workload deadlock_workload() {
  return {"deadlock",
          run,
          {"grants", "faults", "deadlocks found", "deadlocks at the end", "deadlocks of one task",
           "deadlocks of three tasks", "deadlocks with permits", "deadlocks with readers",
           "deadlocks with several locks", "not confirmed"}};
}

}  // namespace conclave::simulated
