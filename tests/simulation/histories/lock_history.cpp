#include "simulation/histories/lock_history.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

#include "recipes/reentry.hpp"
#include "simulation/users/foreign_contender.hpp"
#include "simulation/users/locker.hpp"
#include "simulation/world/fault_injector.hpp"
#include "simulation/world/message_text.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;

enum class what {
  mutex,
  recursive,
  shared,
  semaphore,
  several,
  named,
  election,
  mixed,
  together,
  sticky,
};

// what::together uses every kind of lock on this path.
constexpr const char* shared_path = "/locks/one";

// The kinds of contenders. Readers and writers are separate kinds.
const std::vector<std::string> our_kinds{"mutex",  "recursive", "reader",
                                         "writer", "several",   "election"};
const std::vector<std::string> layout_names{"curator", "kazoo", "zookeeper"};

// The locks of other libraries in this layout, and our kinds that can share a path with them.
struct foreign_kind {
  foreign_contender::library what;
  std::vector<std::string> with;
};
std::vector<foreign_kind> foreign_kinds(const std::string& layout_name) {
  const auto mutexes = [](role r) { return r == role::exclusive; };
  const auto all = [](role) { return true; };
  const auto writers = [](role r) { return r != role::reader; };
  const std::vector<std::string> alone{"mutex", "recursive", "several", "election"};
  const std::vector<std::string> shared{"reader", "writer"};
  const std::string guid = "_c_01234567-89ab-cdef-0123-456789abcdef-";
  const std::string hex = "0123456789abcdef0123456789abcdef";
  if (layout_name == "curator")
    return {{{"their_mutex", guid + "lock-", layout::curator(), false, mutexes}, alone},
            {{"their_reader", guid + "__READ__", layout::curator(), true,
              [](role r) { return r == role::writer; }},
             shared},
            {{"their_writer", guid + "__WRIT__", layout::curator(), false,
              [](role r) { return r != role::exclusive; }},
             shared}};
  if (layout_name == "kazoo")
    return {{{"their_mutex", hex + "__lock__", layout::kazoo(), false, mutexes}, alone},
            {{"their_reader", hex + "__rlock__", layout::kazoo(), true, writers}, our_kinds},
            {{"their_writer", hex + "__lock__", layout::kazoo(), false, all}, our_kinds}};
  return {{{"their_mutex", "x-72057594037927936-", layout::zookeeper(), false, mutexes}, alone}};
}

layout layout_named(const std::string& name) {
  if (name == "kazoo") return layout::kazoo();
  if (name == "zookeeper") return layout::zookeeper();
  return layout::curator();
}

std::string combination(std::string a, std::string b, const std::string& layout_name,
                        const std::string& fault) {
  if (b < a) std::swap(a, b);
  return std::string{combination_prefix} + a + " " + b + " " + layout_name + " " + fault;
}

const std::vector<std::string> faults_by_hand{"written_by_hand", "deleted_by_hand",
                                              "parent_deleted",  "near_maximum",
                                              "wrapped_numbers", "none"};

// The limit of requests and watch events per call without faults, for any number of waiters.
constexpr std::uint64_t max_messages_per_call = 16;

class lock_history : random_choices {
 public:
  lock_history(what w, const history_options& o, tally& t)
      : random_choices{o.seed * 16 + static_cast<std::uint64_t>(w)},
        what_{w},
        impatient_{o.impatient()},
        keeps_{w == what::sticky || (w == what::together && o.seed % 3 == 1)},  // not drawn
        tally_{t},
        c_{world_for(w, o)} {
    c_.world.trace = o.trace;
    c_.world.expired = [this](std::int64_t session) {
      ++tally_["expiries"];
      c_.judge->expired(session);
    };
    if (chance(2)) c_.world.by_hand().create("/locks");
    kinds_ = pick_kinds();
    near_maximum_ = chance(8);
    if (near_maximum_) set_counter_near_maximum();
    if (what_ == what::together && !near_maximum_ && chance(6)) set_counter_after_wraparound();
    for (std::size_t i = 0; i < c_.world.clients(); ++i) add_process(i);
  }

  std::vector<std::string> run() {
    for (const auto& u : users_) act(u);
    if (on_one_path()) add_foreign_contender();
    if (keeps_) check_recalls();
    if (!calm_) {
      faults_.start(400ms);
      others();
    }
    c_.world.advance(end_);
    over_ = true;
    faults_.heal();
    for (const auto& f : foreign_) f->end();
    if (!c_.world.run_until([&] { return all_done(); }, 10min)) report_stuck_calls();
    for (const auto& u : users_)
      if (!u->client().killed()) u->close();
    // The nodes of killed clients are removed with their sessions.
    c_.world.advance(faults_.kills() > 0 ? instant{45s} : instant{3s});
    c_.judge->expect_nothing_left();
    if (calm_) check_message_count();
    count();
    return c_.judge->violations();
  }

 private:
  world_options world_for(what w, const history_options& o) {
    auto options = any_world(*this, o);
    // The server removes empty containers while other contenders arrive.
    if (w == what::together && chance(2)) options.server.reap_interval = 300ms;
    return options;
  }
  bool on_one_path() const { return what_ == what::together || what_ == what::sticky; }

  // --- setup

  // Uses only one or two locks, so that clients contend. Each object has at most one reader or
  // permit at a time, so that each hold can be matched with its call. So there are several objects.
  std::vector<lock_kind> pick_kinds() {
    std::vector<lock_kind> all;
    if (what_ == what::together) return kinds_on_one_path();
    if (what_ == what::sticky) return sticky_kinds();
    const auto permits = 1 + draw(3);
    const auto which = what_ == what::mixed ? static_cast<what>(draw(7)) : what_;
    for (int i = 0; i < 2; ++i) switch (which) {
        case what::shared: all.push_back(a_shared_mutex("/locks/one")); break;
        case what::semaphore: all.push_back(a_semaphore("/locks/slots", permits)); break;
        case what::named: all.push_back(a_named_mutex("/names/one")); break;
        case what::election: all.push_back(an_election("/locks/leader")); break;
        case what::several: all.push_back(a_mutex(some_paths())); break;
        default: all.push_back(a_mutex({"/locks/a"}));
      }
    if (what_ == what::mixed && chance(2))
      all.push_back(chance(2) ? a_shared_mutex("/locks/two") : a_mutex({"/locks/b"}));
    return all;
  }
  // Kinds that can keep a lock after unlock().
  std::vector<lock_kind> sticky_kinds() {
    layout_name_ = chance(4) ? "kazoo" : "curator";
    std::vector<lock_kind> all;
    const auto add = [&](const char* label, lock_kind k) {
      k.request.layout = layout_named(layout_name_);
      all.push_back(std::move(k));
      labels_.emplace_back(label);
    };
    const bool with_readers = chance(3);
    for (auto count = 1 + draw(2); count > 0; --count) {
      if (with_readers)
        add("shared", a_shared_mutex(shared_path));
      else if (chance(4))
        add("several", a_mutex({shared_path, "/locks/two"}));
      else if (chance(4))
        add("recursive", a_mutex({shared_path}));
      else
        add("mutex", a_mutex({shared_path}));
    }
    return all;
  }
  // Kinds that can share a path, and sometimes a kind that cannot and must be refused.
  std::vector<lock_kind> kinds_on_one_path() {
    layout_name_ = layout_names[draw(layout_names.size())];
    std::vector<lock_kind> all;
    const auto add = [&](const char* label, lock_kind k) {
      if (!k.admission) k.request.layout = layout_named(layout_name_);
      all.push_back(std::move(k));
      labels_.emplace_back(label);
    };
    const auto count = 2 + draw(3);
    for (std::uint64_t i = 0; i < count; ++i) switch (draw(6)) {
        case 0: add("recursive", a_mutex({shared_path})); break;
        case 1: add("several", a_mutex({shared_path, "/locks/two"})); break;
        case 2: add("election", an_election(shared_path)); break;
        case 3:
        case 4: add("shared", a_shared_mutex(shared_path)); break;
        default: add("mutex", a_mutex({shared_path}));
      }
    if (chance(5)) {
      mismatch_ = true;
      if (chance(2)) {
        auto other = layout_names[draw(layout_names.size())];
        all.back().request.layout = layout_named(other);
      } else {
        for (std::size_t i = 0; i < 1 + draw(2); ++i)
          add("semaphore", a_semaphore(shared_path, 1 + draw(3)));
      }
    }
    return all;
  }
  std::vector<std::string> some_paths() {
    std::vector<std::string> paths{"/locks/a", "/locks/b", "/locks/d"};
    shuffle(paths);
    paths.resize(1 + draw(3));
    return paths;
  }

  void set_counter_near_maximum() {
    if (kinds_[0].request.granted_when == recipes::lock_request::rule::fixed_name) return;
    auto& hand = c_.world.by_hand();
    hand.create("/locks");
    for (const auto& parent : kinds_[0].parents()) {
      hand.create(parent.substr(0, parent.rfind('/')));
      hand.create(parent);
      c_.world.set_counter(parent, INT32_MAX - static_cast<std::int32_t>(draw(8)));
    }
    ++tally_["numbers near the maximum"];
  }

  // The sequence numbers have wrapped. The last served number is far above the next ones.
  void set_counter_after_wraparound() {
    auto& hand = c_.world.by_hand();
    hand.create("/locks");
    for (const auto* path : {shared_path, "/locks/two"}) {
      hand.create(path);
      hand.set(path, "conclave 1 " + std::to_string(hand.get(path).stat.czxid) + " 2147400000\n");
      const auto next = static_cast<std::int32_t>(draw(8));
      c_.world.set_counter(path, chance(2) ? next : -next);
    }
    wrapped_ = true;
    ++tally_["wrapped numbers"];
  }

  // Adds a contender of another library, if all contenders recognize each other.
  void add_foreign_contender() {
    // Other libraries do not handle wrapped sequence numbers.
    if (near_maximum_ || wrapped_ || mismatch_ || chance(2)) return;
    auto possible = foreign_kinds(layout_name_);
    std::erase_if(possible, [&](const foreign_kind& f) {
      return std::any_of(labels_.begin(), labels_.end(), [&](const std::string& label) {
        const auto& kind = label == "shared" ? "reader" : label;
        return std::find(f.with.begin(), f.with.end(), kind) == f.with.end();
      });
    });
    if (possible.empty()) return;
    const auto& chosen = possible[draw(possible.size())];
    foreign_.push_back(std::make_shared<foreign_contender>(
        c_.world, c_.judge, shared_path, chosen.what,
        [this](instant d, std::function<void()> f) { c_.world.after(d, std::move(f)); },
        [this](instant most) { return within(most); }));
    foreign_.back()->begin();
  }

  // Counts the kinds that contend at the same time when this fault happens.
  void note(const char* fault) {
    if (what_ != what::together) return;
    std::map<std::string, int> there;
    for (const auto& u : users_)
      for (const auto& a : u->calls()) {
        if (u->client().killed() || (a->completions > 0 && !a->holding())) continue;
        const auto& label = label_of_.at(u.get());
        if (label == "semaphore") continue;
        ++there[label != "shared" ? label : a->as == role::reader ? "reader" : "writer"];
      }
    for (const auto& f : foreign_)
      if (f->contends()) ++there[f->kind()];
    for (auto a = there.begin(); a != there.end(); ++a)
      for (auto b = a; b != there.end(); ++b)
        if (a != b || a->second > 1) ++tally_[combination(a->first, b->first, layout_name_, fault)];
  }

  // Adds a process with its lock objects.
  void add_process(std::size_t client) {
    busy_.resize(std::max(busy_.size(), client + 1));
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      const auto& k = kinds_[i];
      lock_options o;
      o.tickets = tickets_;
      if (chance(3)) o.on_revocation = [](auto&) {};
      if (chance(4)) o.on_enqueued = [](auto) {};
      const bool has_wait_queue =
          !k.admission && k.request.data != recipes::lock_request::data_format::owner_only;
      if (keeps_ && has_wait_queue && !chance(5)) {
        o.keep_for = 20ms + within(chance(2) ? 3s : 300ms);
        o.local_handoffs = chance(2) ? 0 : draw(4);
        if (chance(5)) o.on_released = [](auto&) {};
      }
      if (k.request.data == recipes::lock_request::data_format::owner_only)
        o.owner = "candidate " + std::to_string(draw(2));
      users_.push_back(c_.add(client, k, o));
      if (on_one_path()) label_of_[users_.back().get()] = labels_[i];
    }
  }

  // --- one user

  void act(const locker_pointer& u) {
    // A lock is kept only while nobody else wants it, so most users of what::sticky come rarely.
    const bool rarely = what_ == what::sticky && u != users_[0] && !chance(4);
    later(u,
          within(rarely      ? 6s
                 : chance(3) ? 20ms
                             : 300ms),
          [this, u] {
            if (over_) return;
            const bool shared = u->kind().request.role == role::writer;
            call_as(u, shared && !chance(3) ? role::reader : u->kind().request.role);
            // The lock object serializes several calls of an exclusive lock.
            if (!u->kind().admission && !shared && chance(3)) call_as(u, role::exclusive);
          });
  }

  void call_as(const locker_pointer& u, role as) {
    ++busy_[u->client().index()];
    ++tally_["calls"];
    if (keeps_ && as != role::reader && chance(2)) {
      if (const auto a = u->lock_locally()) return granted(u, a);
    }
    const bool waits = !chance(8);
    const auto a = waits ? u->lock(as) : u->try_lock(as);
    const std::weak_ptr<call> weak = a;
    a->on_completed = [this, u, weak] {
      const auto mine = weak.lock();
      if (mine->ec) return done(u, mine);
      granted(u, mine);
    };
    if (a->completions > 0) return a->on_completed();  // try_lock() failed at once
    if (chance(4))
      later(u, within(500ms), [this, u, a] {
        if (a->completions == 0) ++tally_["gave up"];
        u->give_up(a);
      });
  }

  void granted(const locker_pointer& u, const call_pointer& a) {
    if (writes(u, a)) write(u, a);
    a->on_lost = [this, u, a] {
      if (writes(u, a))
        later(u, within(chance(2) ? 200ms : 3s), [this, u, a] { write_late(u, a); });
    };
    if (a->as == role::writer && chance(2))
      later(u, within(100ms), [u, a] {
        if (!a->unlocked) u->downgrade(a);
      });
    if (what_ == what::together)
      note(near_maximum_ ? "near_maximum" : wrapped_ ? "wrapped_numbers" : "none");
    const auto label = label_of_.find(u.get());
    if (what_ == what::recursive || (label != label_of_.end() && label->second == "recursive"))
      return enter_again(u, a);
    later(u, chance(3) ? instant{0} : within(chance(4) ? 8s : 300ms),
          [this, u, a] { unlock(u, a); });
  }

  void unlock(const locker_pointer& u, const call_pointer& a) {
    if (a->unlocked) return;
    if (writes(u, a) && a->holding() && a->held()) write(u, a);
    u->unlock(a);
    done(u, a);
  }

  // --- recursive locks

  void enter_again(const locker_pointer& u, const call_pointer& a) {
    const auto depth = std::make_shared<recipes::reentry>();
    depth->first(1);
    go_deeper(u, a, depth, 1 + draw(4));
  }
  void go_deeper(const locker_pointer& u, const call_pointer& a,
                 const std::shared_ptr<recipes::reentry>& depth, std::uint64_t more) {
    using answer = recipes::reentry::answer;
    later(u, within(chance(4) ? 3s : 100ms), [this, u, a, depth, more] {
      if (a->unlocked) return;
      if (more > 0 && chance(2)) {
        const auto before = depth->count(1);
        const auto got = depth->again(1, a->held());
        const bool sound = a->held() && !a->lost();
        if ((got == answer::again) != sound || depth->count(1) != before + sound)
          c_.judge->report_violation(a->hold->nodes().front() +
                                     ": locked again although it was lost");
        ++tally_[sound ? "locked again" : "not locked again"];
      } else if (depth->unlock(1)) {
        return unlock(u, a);
      }
      go_deeper(u, a, depth, more - (more > 0));
    });
  }

  // --- the protected resource

  static bool writes(const locker_pointer& u, const call_pointer& a) {
    return a->alone() && !u->kind().admission;
  }
  void write(const locker_pointer& u, const call_pointer& a) { c_.judge->write(*u, *a); }
  // Writes without checking whether the lock is still held.
  void write_late(const locker_pointer& u, const call_pointer& a) {
    ++tally_["stale writes"];
    c_.judge->write(*u, *a);
  }

  // A paused process calls `f` when it is resumed, a killed one never.
  void later(const locker_pointer& u, instant d, std::function<void()> f) {
    c_.world.after(d, [this, u, f = std::move(f)] {
      if (u->client().killed()) return;
      if (u->client().paused()) return later(u, 10ms, f);
      f();
    });
  }

  void done(const locker_pointer& u, const call_pointer& a) {
    --busy_[u->client().index()];
    if (impatient_ && a->ec == errc::not_connected) {
      ++tally_["not connected"];
    } else if (mismatch_ && (a->ec == errc::layout_mismatch || a->ec == errc::permits_mismatch)) {
      ++tally_["refused"];
    } else if (a->ec && !a->gave_up && a->ec != errc::lock_busy) {
      ++tally_["failed calls"];
      // Only a change of its node by hand may make a call fail.
      if (a->ec != errc::waiter_node_deleted || !node_was_deleted_)
        c_.judge->report_violation("a call for " + u->kind().resources()[0] + " failed: " +
                                   name_of(a->ec) + (a->who->waits ? "" : ", try_lock"));
    }
    const auto mine = [](const call_pointer& x) { return x->completions == 0 || x->holding(); };
    if (std::none_of(u->calls().begin(), u->calls().end(), mine)) act(u);
  }

  // The process continues for a moment. Its threads run before its I/O thread has received
  // anything.
  void call_before_events(const locker_pointer& u) {
    const auto a = u->lock_locally();
    if (!a) return;
    ++busy_[u->client().index()];
    ++tally_["calls"];
    granted(u, a);
  }

  void check_recalls() {
    c_.world.after(200ms, [this] {
      for (const auto& u : users_) {
        if (u->client().killed()) continue;
        u->check_recall();
        if (!over_ && u->client().paused() && chance(12)) call_before_events(u);
      }
      if (!over_) check_recalls();
    });
  }

  bool all_done() {
    for (std::size_t i = 0; i < busy_.size(); ++i)
      if (busy_[i] > 0 && !c_.world.client(i).killed()) return false;
    return true;
  }

  // --- changes by hand

  void others() {
    c_.world.after(within(600ms), [this] {
      if (over_) return;
      if (c_.world.server().up()) change_by_hand();
      others();
    });
  }

  void change_by_hand() {
    auto& hand = c_.world.by_hand();
    const auto& kind = users_[draw(users_.size())]->kind();
    const auto parents = kind.parents();
    const auto& parent = parents[draw(parents.size())];
    auto names = hand.children(parent);
    const bool named = kind.request.granted_when == recipes::lock_request::rule::fixed_name;
    if (named) names = {kind.request.name};
    if (names.empty()) return;
    // A node with a fixed name is not deleted: a holder that does not know of the deletion would
    // delete the node of the next holder.
    if (!deletes_nodes_ || named || !chance(3)) {
      note("written_by_hand");
      hand.set(parent + '/' + names[draw(names.size())], chance(4) ? "scribble" : "__REVOKE__");
      // After a lost reply, a contender with several nodes may not recognize overwritten nodes.
      for (const auto& k : kinds_) node_was_deleted_ = node_was_deleted_ || k.parents().size() > 1;
      return;
    }
    const bool only_one = !chance(4);
    note(only_one ? "deleted_by_hand" : "parent_deleted");
    if (only_one) return delete_by_hand(parent + '/' + names[draw(names.size())]);
    for (const auto& name : names) delete_by_hand(parent + '/' + name);
    if (!hand.remove(parent)) ++tally_["parents deleted"];
  }

  void delete_by_hand(const std::string& path) {
    auto& hand = c_.world.by_hand();
    node_was_deleted_ = true;
    const auto node = hand.get(path).stat;
    const bool sure = !hand.remove(path);
    for (const auto& f : foreign_) f->node_was_deleted(path);
    tally_["nodes deleted"] += sure;
    c_.world.write_trace(
        [&] { return path + " is deleted by hand" + (sure ? "" : ", outcome unknown"); });
    tally_["nodes of holders deleted"] += c_.judge->note_deletion(path, node, sure);
  }

  // --- faults

  // Prefers a holder, because faults of other clients test less.
  simulated::client* victim() {
    if (chance(2))
      for (const auto& u : users_)
        for (const auto& a : u->calls())
          if (a->holding()) {
            ++tally_["faults that hit a holder"];
            return &u->client();
          }
    return nullptr;
  }

  // Another process replaces the killed one.
  void replace(simulated::client& dead) {
    for (const auto& u : users_)
      if (&u->client() == &dead)
        for (const auto& a : u->calls()) {
          if (a->hold && !a->unlocked) ++tally_["holders killed"];
          c_.judge->ended(*a);
        }
    c_.world.after(within(2s), [this] {
      if (over_) return;
      const auto first = users_.size();
      add_process(c_.world.add_client().index());
      for (auto i = first; i < users_.size(); ++i) act(users_[i]);
    });
  }

  // --- the end

  void report_stuck_calls() {
    for (const auto& parent : users_[0]->kind().parents())
      for (const auto& name : c_.world.by_hand().children(parent)) {
        const auto node = c_.world.by_hand().get(parent + '/' + name);
        char owner[20];
        std::snprintf(owner, sizeof owner, "%llx",
                      static_cast<unsigned long long>(node.stat.ephemeral_owner));
        c_.judge->report_violation(parent + '/' + name + " of session " + owner + ": " + node.data);
      }
    for (const auto& u : users_)
      for (const auto& a : u->calls())
        if (!u->client().killed() && (a->completions == 0 || a->holding()))
          c_.judge->report_violation("stuck: " + u->client().name() + " at " +
                                     u->kind().resources()[0] +
                                     (a->completions == 0 ? " waits" : " holds"));
  }

  void check_message_count() {
    ++tally_["calm"];
    // With wrapped sequence numbers, all contenders read each other's nodes.
    if (near_maximum_) return;
    // The other kinds have a documented herd effect or an admission lock.
    if (what_ != what::mutex && what_ != what::recursive && what_ != what::election) return;
    std::uint64_t messages = 0, calls = 0;
    for (std::size_t i = 0; i < c_.world.clients(); ++i) {
      const auto& t = c_.world.client(i).traffic();
      messages += static_cast<std::uint64_t>(t.all() + t.events);
    }
    for (const auto& u : users_) calls += u->calls().size();
    if (messages > calls * max_messages_per_call)
      c_.judge->report_violation(std::to_string(messages) + " messages for " +
                                 std::to_string(calls) + " calls");
  }

  void count() {
    auto& j = *c_.judge;
    ++tally_["histories"];
    tally_["faults"] += faults_.count();
    tally_["server crashes"] += faults_.restarts();
    tally_["clients stopped"] += faults_.pauses();
    tally_["clients killed"] += faults_.kills();
    tally_["grants"] += static_cast<std::uint64_t>(j.grants);
    tally_["grants not judged"] += static_cast<std::uint64_t>(j.excused_grants);
    tally_["shared grants"] += static_cast<std::uint64_t>(j.shared_grants);
    tally_["local grants"] += static_cast<std::uint64_t>(j.local_grants);
    tally_["grants without the mutex"] += static_cast<std::uint64_t>(j.grants_without_mutex);
    tally_["holders expired"] += static_cast<std::uint64_t>(j.expiries_of_holders);
    tally_["stale writes refused"] += j.stale_writes_refused();
    for (const auto& f : foreign_)
      tally_["grants of other libraries"] += static_cast<std::uint64_t>(f->grants());
    for (const auto& u : users_) {
      if (u->client().killed()) continue;
      const auto& k = u->kind();
      if (k.admission && j.most_holders(k.resources()[0]) == k.request.permits)
        ++tally_["all permits"];
      const auto lost = u->count("lost deadline_passed") + u->count("lost node_deleted") +
                        u->count("lost session_expired");
      tally_["revocations reported"] += static_cast<std::uint64_t>(u->count("revocation"));
      tally_["suspended"] += static_cast<std::uint64_t>(u->count("suspended"));
      tally_["losses"] += static_cast<std::uint64_t>(lost);
      for (const auto ec : u->downgrades()) ++tally_[ec ? "failed downgrades" : "downgrades"];
      if (u->count("restored") > u->count("suspended"))
        j.report_violation("restored more often than suspended");
      // Each loss is reported exactly once, and only to a holder.
      int losses = 0;
      for (const auto& a : u->calls()) losses += a->lost();
      if (losses != lost) j.report_violation("a loss was not reported exactly once");
    }
  }

  what what_;
  bool impatient_;
  bool keeps_;  // some lock objects have keep_for
  tally& tally_;
  lock_world c_;
  fault_injector faults_{c_.world,
                         number(),
                         {{wire::opcode::create2, wire::opcode::multi, wire::opcode::remove},
                          [this] { return victim(); },
                          [this](simulated::client& dead) { replace(dead); },
                          [this](const char* fault) { note(fault); }}};
  std::vector<lock_kind> kinds_;
  std::vector<locker_pointer> users_;
  std::string layout_name_;          // this and the next five members: only for what::together
  std::vector<std::string> labels_;  // by index in kinds_
  std::map<const locker*, std::string> label_of_;
  std::vector<std::shared_ptr<foreign_contender>> foreign_;
  bool mismatch_ = false;  // some kinds cannot share the path
  bool wrapped_ = false;
  std::vector<int> busy_;  // the pending calls and holds of each client
  instant end_ = chance(4) ? 20s : 5s;
  bool tickets_ = chance(2);
  bool calm_ = chance(8);
  bool deletes_nodes_ = chance(3);
  bool node_was_deleted_ = false;
  bool over_ = false;
  bool near_maximum_ = false;
};

template <what W>
std::vector<std::string> run(const history_options& o, tally& t) {
  return lock_history{W, o, t}.run();
}

}  // namespace

std::vector<std::string> lock_combinations() {
  std::vector<std::string> all;
  auto faults = fault_injector::all();
  faults.insert(faults_by_hand.begin(), faults_by_hand.end());
  for (const auto& l : layout_names)
    for (const auto& fault : faults) {
      for (std::size_t i = 0; i < our_kinds.size(); ++i)
        for (std::size_t j = i; j < our_kinds.size(); ++j)
          all.push_back(combination(our_kinds[i], our_kinds[j], l, fault));
      // Other libraries do not handle wrapped sequence numbers.
      if (fault == "near_maximum" || fault == "wrapped_numbers") continue;
      for (const auto& f : foreign_kinds(l))
        for (const auto& ours : f.with) all.push_back(combination(f.what.kind, ours, l, fault));
    }
  return all;
}

std::vector<workload> lock_workloads() {
  std::vector<workload> all{
      {"mutex", run<what::mutex>, {}},
      {"recursive", run<what::recursive>, {"locked again", "not locked again"}},
      {"shared", run<what::shared>, {"shared grants", "downgrades", "failed downgrades"}},
      {"semaphore", run<what::semaphore>, {"all permits"}},
      {"multi", run<what::several>, {}},
      {"named", run<what::named>, {}},
      {"election", run<what::election>, {}},
      {"mixed", run<what::mixed>, {"shared grants", "all permits"}},
      {"together",
       run<what::together>,
       {"shared grants", "downgrades", "locked again", "refused", "grants of other libraries",
        "wrapped numbers", "local grants", "grants without the mutex"}},
      {"sticky",
       run<what::sticky>,
       {"local grants", "grants without the mutex", "shared grants", "downgrades", "locked again",
        "grants of other libraries"}}};
  for (auto& w : all) {
    for (const auto* e :
         {"grants", "faults that hit a holder", "holders killed", "losses", "holders expired",
          "gave up", "suspended", "revocations reported", "calm", "not connected"})
      w.expected.emplace_back(e);
    if (w.name != "semaphore") w.expected.emplace_back("stale writes refused");
    if (w.name != "named")
      for (const auto* e :
           {"nodes of holders deleted", "parents deleted", "numbers near the maximum"})
        w.expected.emplace_back(e);
  }
  return all;
}

}  // namespace conclave::simulated
