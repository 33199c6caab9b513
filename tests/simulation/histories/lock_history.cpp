#include "simulation/histories/lock_history.hpp"

#include <algorithm>
#include <cstdio>

#include "recipes/reentry.hpp"
#include "simulation/users/locker.hpp"
#include "simulation/world/message_text.hpp"
#include "simulation/world/trouble.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;

enum class what { mutex, recursive, shared, semaphore, several, named, election, mixed };

// Requests and events for a call, at most, when nothing breaks: however many wait.
constexpr std::uint64_t most_messages_for_a_call = 16;

class lock_history : lots {
 public:
  lock_history(what w, const history_options& o, tally& t)
      : lots{o.seed * 16 + static_cast<std::uint64_t>(w)},
        what_{w},
        impatient_{o.impatient()},
        tally_{t},
        c_{any_world(*this, o)} {
    c_.world.trace = o.trace;
    c_.world.expired = [this](std::int64_t session) {
      ++tally_["expiries"];
      c_.judge->expired(session);
    };
    if (chance(2)) c_.world.by_hand().create("/locks");
    kinds_ = pick_kinds();
    last_numbers_ = chance(8);
    if (last_numbers_) near_the_last_number();
    for (std::size_t i = 0; i < c_.world.clients(); ++i) settle_in(i);
  }

  std::vector<std::string> run() {
    for (const auto& u : users_) act(u);
    if (!calm_) {
      trouble_.begin(400ms);
      others();
    }
    c_.world.advance(end_);
    over_ = true;
    trouble_.heal();
    if (!c_.world.run_until([&] { return all_done(); }, 10min)) complain_of_the_stuck();
    for (const auto& u : users_)
      if (!u->client().killed()) u->close();
    // What the dead have left goes with their sessions.
    c_.world.advance(trouble_.kills() > 0 ? instant{45s} : instant{3s});
    c_.judge->expect_nothing_left();
    if (calm_) look_for_a_herd();
    count();
    return c_.judge->complaints();
  }

 private:
  // --- what there is

  // One or two at a time, so that they meet. One object has one reader or one permit at a time, so
  // that it is known which hold is whose; so there are several objects.
  std::vector<lock_kind> pick_kinds() {
    std::vector<lock_kind> all;
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
  std::vector<std::string> some_paths() {
    std::vector<std::string> paths{"/locks/a", "/locks/b", "/locks/d"};
    shuffle(paths);
    paths.resize(1 + draw(3));
    return paths;
  }

  void near_the_last_number() {
    if (kinds_[0].terms.rule == recipes::rule::unique_name) return;
    auto& hand = c_.world.by_hand();
    hand.create("/locks");
    for (const auto& parent : kinds_[0].parents()) {
      hand.create(parent.substr(0, parent.rfind('/')));
      hand.create(parent);
      c_.world.set_counter(parent, INT32_MAX - static_cast<std::int32_t>(draw(8)));
    }
    ++tally_["near the last number"];
  }

  // A process and its objects.
  void settle_in(std::size_t client) {
    busy_.resize(std::max(busy_.size(), client + 1));
    for (const auto& k : kinds_) {
      lock_options o;
      o.tickets = tickets_;
      if (chance(3)) o.on_revocation = [](auto&) {};
      if (chance(4)) o.on_enqueued = [](auto) {};
      if (k.terms.bare) o.owner = "candidate " + std::to_string(draw(2));
      users_.push_back(c_.add(client, k, o));
    }
  }

  // --- one user

  void act(const locker_pointer& u) {
    later(u, within(chance(3) ? 20ms : 300ms), [this, u] {
      if (over_) return;
      const bool shared = u->kind().terms.role == role::writer;
      call_as(u, shared && !chance(3) ? role::reader : u->kind().terms.role);
      // Those of an exclusive lock take turns in the object.
      if (!u->kind().gate && !shared && chance(3)) call_as(u, role::exclusive);
    });
  }

  void call_as(const locker_pointer& u, role as) {
    ++busy_[u->client().index()];
    ++tally_["calls"];
    const bool patient = !chance(8);
    const auto a = patient ? u->lock(as) : u->try_lock(as);
    const std::weak_ptr<call> weak = a;
    a->when_told = [this, u, weak] {
      const auto mine = weak.lock();
      if (mine->ec) return done(u, mine);
      has_it(u, mine);
    };
    if (a->told > 0) return a->when_told();  // it was not patient, and another caller has it
    if (chance(4))
      later(u, within(500ms), [this, u, a] {
        if (a->told == 0) ++tally_["gave up"];
        u->give_up(a);
      });
  }

  void has_it(const locker_pointer& u, const call_pointer& a) {
    if (writes(u, a)) write(u, a);
    a->when_lost = [this, u, a] {
      if (writes(u, a))
        later(u, within(chance(2) ? 200ms : 3s), [this, u, a] { write_late(u, a); });
    };
    if (a->as == role::writer && chance(2))
      later(u, within(100ms), [u, a] {
        if (!a->unlocked) u->downgrade(a);
      });
    if (what_ == what::recursive) return enter_again(u, a);
    later(u, chance(3) ? instant{0} : within(chance(4) ? 8s : 300ms),
          [this, u, a] { unlock(u, a); });
  }

  void unlock(const locker_pointer& u, const call_pointer& a) {
    if (a->unlocked) return;
    if (writes(u, a) && a->holding() && a->held()) write(u, a);
    u->unlock(a);
    done(u, a);
  }

  // --- of a recursive lock

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
          c_.judge->complain(a->hold->nodes().front() + ": locked again what was lost");
        ++tally_[sound ? "locked again" : "not locked again"];
      } else if (depth->unlock(1)) {
        return unlock(u, a);
      }
      go_deeper(u, a, depth, more - (more > 0));
    });
  }

  // --- what the lock is for

  static bool writes(const locker_pointer& u, const call_pointer& a) {
    return a->alone() && !u->kind().gate;
  }
  void write(const locker_pointer& u, const call_pointer& a) { c_.judge->write(*u, *a); }
  // By one that does not look whether it still may.
  void write_late(const locker_pointer& u, const call_pointer& a) {
    ++tally_["stale writes"];
    c_.judge->write(*u, *a);
  }

  // A process that stands still does nothing; one that is dead never will.
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
    } else if (a->ec && !a->gave_up && a->ec != errc::taken) {
      ++tally_["out of line"];
      // Only what was done to its node by hand is a reason to fail.
      if (a->ec != errc::out_of_line || !robbery_)
        c_.judge->complain("a call for " + u->kind().resources()[0] + " failed: " + name_of(a->ec) +
                           (a->who->patient ? "" : ", not patient"));
    }
    const auto mine = [](const call_pointer& x) { return x->told == 0 || x->holding(); };
    if (std::none_of(u->calls().begin(), u->calls().end(), mine)) act(u);
  }

  bool all_done() {
    for (std::size_t i = 0; i < busy_.size(); ++i)
      if (busy_[i] > 0 && !c_.world.client(i).killed()) return false;
    return true;
  }

  // --- others who reach into the tree

  void others() {
    c_.world.after(within(600ms), [this] {
      if (over_) return;
      if (c_.world.server().up()) meddle();
      others();
    });
  }

  void meddle() {
    auto& hand = c_.world.by_hand();
    const auto& kind = users_[draw(users_.size())]->kind();
    const auto parents = kind.parents();
    const auto& parent = parents[draw(parents.size())];
    auto names = hand.children(parent);
    const bool named = kind.terms.rule == recipes::rule::unique_name;
    if (named) names = {kind.terms.name};
    if (names.empty()) return;
    // A holder that does not know yet that its name is somebody else's would take that one's.
    if (!robbers_ || named || !chance(3)) {
      hand.set(parent + '/' + names[draw(names.size())], chance(4) ? "scribble" : "__REVOKE__");
      // Whose replies were lost cannot always tell then which of their nodes is whose.
      for (const auto& k : kinds_) robbery_ = robbery_ || k.parents().size() > 1;
      return;
    }
    if (!chance(4)) return rob(parent + '/' + names[draw(names.size())]);
    for (const auto& name : names) rob(parent + '/' + name);
    if (!hand.remove(parent)) ++tally_["parents deleted"];
  }

  void rob(const std::string& path) {
    auto& hand = c_.world.by_hand();
    robbery_ = true;
    const auto node = hand.get(path).stat;
    const bool sure = !hand.remove(path);
    tally_["nodes deleted"] += sure;
    c_.world.tell([&] { return path + " is deleted by hand" + (sure ? "" : ", perhaps"); });
    tally_["nodes of holders deleted"] += c_.judge->note_robbery(path, node, sure);
  }

  // --- faults

  // A fault that never hits a holder shows little.
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

  // Another process comes in its place.
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
      settle_in(c_.world.add_client().index());
      for (auto i = first; i < users_.size(); ++i) act(users_[i]);
    });
  }

  // --- the end

  void complain_of_the_stuck() {
    for (const auto& parent : users_[0]->kind().parents())
      for (const auto& name : c_.world.by_hand().children(parent)) {
        const auto node = c_.world.by_hand().get(parent + '/' + name);
        char owner[20];
        std::snprintf(owner, sizeof owner, "%llx",
                      static_cast<unsigned long long>(node.stat.ephemeral_owner));
        c_.judge->complain(parent + '/' + name + " of session " + owner + ": " + node.data);
      }
    for (const auto& u : users_)
      for (const auto& a : u->calls())
        if (!u->client().killed() && (a->told == 0 || a->holding()))
          c_.judge->complain("stuck: " + u->client().name() + " at " + u->kind().resources()[0] +
                             (a->told == 0 ? " waits" : " holds"));
  }

  void look_for_a_herd() {
    ++tally_["calm"];
    // There everybody looks at everybody.
    if (last_numbers_) return;
    // What the others do is documented as a herd, or has a gate.
    if (what_ != what::mutex && what_ != what::recursive && what_ != what::election) return;
    std::uint64_t messages = 0, calls = 0;
    for (std::size_t i = 0; i < c_.world.clients(); ++i) {
      const auto& t = c_.world.client(i).traffic();
      messages += static_cast<std::uint64_t>(t.all() + t.events);
    }
    for (const auto& u : users_) calls += u->calls().size();
    if (messages > calls * most_messages_for_a_call)
      c_.judge->complain(std::to_string(messages) + " messages for " + std::to_string(calls) +
                         " calls");
  }

  void count() {
    auto& j = *c_.judge;
    ++tally_["histories"];
    tally_["faults"] += trouble_.count();
    tally_["server crashes"] += trouble_.restarts();
    tally_["clients stopped"] += trouble_.pauses();
    tally_["clients killed"] += trouble_.kills();
    tally_["grants"] += static_cast<std::uint64_t>(j.grants);
    tally_["grants not judged"] += static_cast<std::uint64_t>(j.excused_grants);
    tally_["shared grants"] += static_cast<std::uint64_t>(j.shared_grants);
    tally_["holders expired"] += static_cast<std::uint64_t>(j.expiries_of_holders);
    tally_["stale writes refused"] += j.stale_writes_refused();
    for (const auto& u : users_) {
      if (u->client().killed()) continue;
      const auto& k = u->kind();
      if (k.gate && j.most_holders(k.terms.parents[0]) == k.terms.permits) ++tally_["all permits"];
      const auto lost = u->count("lost lock_lost") + u->count("lost session_expired");
      tally_["revocations told"] += static_cast<std::uint64_t>(u->count("revocation"));
      tally_["suspended"] += static_cast<std::uint64_t>(u->count("suspended"));
      tally_["losses"] += static_cast<std::uint64_t>(lost);
      for (const auto ec : u->downgrades()) ++tally_[ec ? "failed downgrades" : "downgrades"];
      if (u->count("restored") > u->count("suspended"))
        j.complain("restored more often than suspended");
      // The notice of a loss comes once, and only to one that held it.
      int losses = 0;
      for (const auto& a : u->calls()) losses += a->lost();
      if (losses != lost) j.complain("a loss was not told once");
    }
  }

  what what_;
  bool impatient_;
  tally& tally_;
  lock_world c_;
  trouble trouble_{c_.world,
                   number(),
                   {{wire::opcode::create2, wire::opcode::multi, wire::opcode::remove},
                    [this] { return victim(); },
                    [this](simulated::client& dead) { replace(dead); }}};
  std::vector<lock_kind> kinds_;
  std::vector<locker_pointer> users_;
  std::vector<int> busy_;  // calls of each client that are not over
  instant end_ = chance(4) ? 20s : 5s;
  bool tickets_ = chance(2);
  bool calm_ = chance(8);
  bool robbers_ = chance(3);
  bool robbery_ = false;
  bool over_ = false;
  bool last_numbers_ = false;
};

template <what W>
std::vector<std::string> run(const history_options& o, tally& t) {
  return lock_history{W, o, t}.run();
}

}  // namespace

std::vector<workload> lock_workloads() {
  std::vector<workload> all{
      {"mutex", run<what::mutex>, {}},
      {"recursive", run<what::recursive>, {"locked again", "not locked again"}},
      {"shared", run<what::shared>, {"shared grants", "downgrades", "failed downgrades"}},
      {"semaphore", run<what::semaphore>, {"all permits"}},
      {"multi", run<what::several>, {}},
      {"named", run<what::named>, {}},
      {"election", run<what::election>, {}},
      {"mixed", run<what::mixed>, {"shared grants", "all permits"}}};
  for (auto& w : all) {
    for (const auto* e :
         {"grants", "faults that hit a holder", "holders killed", "losses", "holders expired",
          "gave up", "suspended", "revocations told", "calm", "not connected"})
      w.expected.emplace_back(e);
    if (w.name != "semaphore") w.expected.emplace_back("stale writes refused");
    if (w.name != "named")
      for (const auto* e : {"nodes of holders deleted", "parents deleted", "near the last number"})
        w.expected.emplace_back(e);
  }
  return all;
}

}  // namespace conclave::simulated
