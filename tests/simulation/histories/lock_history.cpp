#include "simulation/histories/lock_history.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>

#include "recipes/reentry.hpp"
#include "simulation/users/classic.hpp"
#include "simulation/users/locker.hpp"
#include "simulation/world/message_text.hpp"
#include "simulation/world/trouble.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;

enum class what { mutex, recursive, shared, semaphore, several, named, election, mixed, together };

// Of what::together: every kind of lock on one path.
constexpr const char* one_path = "/locks/one";

// Whose calls are under way, by name; of a shared lock each role is a kind.
const std::vector<std::string> our_kinds{"mutex",  "recursive", "reader",
                                         "writer", "several",   "election"};
const std::vector<std::string> layout_names{"curator", "kazoo", "zookeeper"};

// What other libraries have in this layout, and which of our kinds they may share a path with.
struct foreign_kind {
  classic::library what;
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
  return std::string{met} + a + " " + b + " " + layout_name + " " + fault;
}

const std::vector<std::string> faults_by_hand{"written_by_hand", "deleted_by_hand",
                                              "parent_deleted",  "last_numbers",
                                              "numbers_round",   "none"};

// Requests and events for a call, at most, when nothing breaks: however many wait.
constexpr std::uint64_t most_messages_for_a_call = 16;

class lock_history : lots {
 public:
  lock_history(what w, const history_options& o, tally& t)
      : lots{o.seed * 16 + static_cast<std::uint64_t>(w)},
        what_{w},
        impatient_{o.impatient()},
        tally_{t},
        c_{world_for(w, o)} {
    c_.world.trace = o.trace;
    c_.world.expired = [this](std::int64_t session) {
      ++tally_["expiries"];
      c_.judge->expired(session);
    };
    if (chance(2)) c_.world.by_hand().create("/locks");
    kinds_ = pick_kinds();
    last_numbers_ = chance(8);
    if (last_numbers_) near_the_last_number();
    if (what_ == what::together && !last_numbers_ && chance(6)) numbers_come_round();
    for (std::size_t i = 0; i < c_.world.clients(); ++i) settle_in(i);
  }

  std::vector<std::string> run() {
    for (const auto& u : users_) act(u);
    if (what_ == what::together) others_come();
    if (!calm_) {
      trouble_.begin(400ms);
      others();
    }
    c_.world.advance(end_);
    over_ = true;
    trouble_.heal();
    for (const auto& f : foreign_) f->end();
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
  world_options world_for(what w, const history_options& o) {
    auto options = any_world(*this, o);
    // The server removes what is empty while others come.
    if (w == what::together && chance(2)) options.server.reap_interval = 300ms;
    return options;
  }

  // --- what there is

  // One or two at a time, so that they meet. One object has one reader or one permit at a time, so
  // that it is known which hold is whose; so there are several objects.
  std::vector<lock_kind> pick_kinds() {
    std::vector<lock_kind> all;
    if (what_ == what::together) return kinds_on_one_path();
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
  // Whatever may share a path; and sometimes, by accident, what may not.
  std::vector<lock_kind> kinds_on_one_path() {
    layout_name_ = layout_names[draw(layout_names.size())];
    std::vector<lock_kind> all;
    const auto add = [&](const char* label, lock_kind k) {
      if (!k.gate) k.request.layout = layout_named(layout_name_);
      all.push_back(std::move(k));
      labels_.emplace_back(label);
    };
    const auto count = 2 + draw(3);
    for (std::uint64_t i = 0; i < count; ++i) switch (draw(6)) {
        case 0: add("recursive", a_mutex({one_path})); break;
        case 1: add("several", a_mutex({one_path, "/locks/two"})); break;
        case 2: add("election", an_election(one_path)); break;
        case 3:
        case 4: add("shared", a_shared_mutex(one_path)); break;
        default: add("mutex", a_mutex({one_path}));
      }
    if (chance(5)) {
      mismatch_ = true;
      if (chance(2)) {
        auto other = layout_names[draw(layout_names.size())];
        all.back().request.layout = layout_named(other);
      } else {
        for (std::size_t i = 0; i < 1 + draw(2); ++i)
          add("semaphore", a_semaphore(one_path, 1 + draw(3)));
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

  void near_the_last_number() {
    if (kinds_[0].request.granted_when == recipes::lock_request::rule::fixed_name) return;
    auto& hand = c_.world.by_hand();
    hand.create("/locks");
    for (const auto& parent : kinds_[0].parents()) {
      hand.create(parent.substr(0, parent.rfind('/')));
      hand.create(parent);
      c_.world.set_counter(parent, INT32_MAX - static_cast<std::int32_t>(draw(8)));
    }
    ++tally_["near the last number"];
  }

  // The server has counted below zero, and from there on: what was served is far above.
  void numbers_come_round() {
    auto& hand = c_.world.by_hand();
    hand.create("/locks");
    for (const auto* path : {one_path, "/locks/two"}) {
      hand.create(path);
      hand.set(path, "conclave 1 " + std::to_string(hand.get(path).stat.czxid) + " 2147400000\n");
      const auto next = static_cast<std::int32_t>(draw(8));
      c_.world.set_counter(path, chance(2) ? next : -next);
    }
    numbers_round_ = true;
    ++tally_["numbers come round"];
  }

  // Contenders of other libraries, if all who are here see each other.
  void others_come() {
    // They know nothing of the end of the numbers.
    if (last_numbers_ || numbers_round_ || mismatch_ || chance(2)) return;
    auto possible = foreign_kinds(layout_name_);
    std::erase_if(possible, [&](const foreign_kind& f) {
      return std::any_of(labels_.begin(), labels_.end(), [&](const std::string& label) {
        const auto& kind = label == "shared" ? "reader" : label;
        return std::find(f.with.begin(), f.with.end(), kind) == f.with.end();
      });
    });
    if (possible.empty()) return;
    const auto& chosen = possible[draw(possible.size())];
    foreign_.push_back(std::make_shared<classic>(
        c_.world, c_.judge, one_path, chosen.what,
        [this](instant d, std::function<void()> f) { c_.world.after(d, std::move(f)); },
        [this](instant most) { return within(most); }));
    foreign_.back()->begin();
  }

  // Which of them are there at the same time, when this happens.
  void note(const char* fault) {
    if (what_ != what::together) return;
    std::map<std::string, int> there;
    for (const auto& u : users_)
      for (const auto& a : u->calls()) {
        if (u->client().killed() || (a->told > 0 && !a->holding())) continue;
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

  // A process and its objects.
  void settle_in(std::size_t client) {
    busy_.resize(std::max(busy_.size(), client + 1));
    for (std::size_t i = 0; i < kinds_.size(); ++i) {
      const auto& k = kinds_[i];
      lock_options o;
      o.tickets = tickets_;
      if (chance(3)) o.on_revocation = [](auto&) {};
      if (chance(4)) o.on_enqueued = [](auto) {};
      if (k.request.data == recipes::lock_request::data_format::owner_only)
        o.owner = "candidate " + std::to_string(draw(2));
      users_.push_back(c_.add(client, k, o));
      if (what_ == what::together) label_of_[users_.back().get()] = labels_[i];
    }
  }

  // --- one user

  void act(const locker_pointer& u) {
    later(u, within(chance(3) ? 20ms : 300ms), [this, u] {
      if (over_) return;
      const bool shared = u->kind().request.role == role::writer;
      call_as(u, shared && !chance(3) ? role::reader : u->kind().request.role);
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
    if (what_ == what::together)
      note(last_numbers_ ? "last_numbers" : numbers_round_ ? "numbers_round" : "none");
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
    } else if (mismatch_ && (a->ec == errc::layout_mismatch || a->ec == errc::permits_mismatch)) {
      ++tally_["refused"];
    } else if (a->ec && !a->gave_up && a->ec != errc::lock_busy) {
      ++tally_["out of line"];
      // Only what was done to its node by hand is a reason to fail.
      if (a->ec != errc::waiter_node_deleted || !robbery_)
        c_.judge->complain("a call for " + u->kind().resources()[0] + " failed: " + name_of(a->ec) +
                           (a->who->waits ? "" : ", not patient"));
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
    const bool named = kind.request.granted_when == recipes::lock_request::rule::fixed_name;
    if (named) names = {kind.request.name};
    if (names.empty()) return;
    // A holder that does not know yet that its name is somebody else's would take that one's.
    if (!robbers_ || named || !chance(3)) {
      note("written_by_hand");
      hand.set(parent + '/' + names[draw(names.size())], chance(4) ? "scribble" : "__REVOKE__");
      // Whose replies were lost cannot always tell then which of their nodes is whose.
      for (const auto& k : kinds_) robbery_ = robbery_ || k.parents().size() > 1;
      return;
    }
    const bool only_one = !chance(4);
    note(only_one ? "deleted_by_hand" : "parent_deleted");
    if (only_one) return rob(parent + '/' + names[draw(names.size())]);
    for (const auto& name : names) rob(parent + '/' + name);
    if (!hand.remove(parent)) ++tally_["parents deleted"];
  }

  void rob(const std::string& path) {
    auto& hand = c_.world.by_hand();
    robbery_ = true;
    const auto node = hand.get(path).stat;
    const bool sure = !hand.remove(path);
    for (const auto& f : foreign_) f->robbed(path);
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
    for (const auto& f : foreign_)
      tally_["grants of other libraries"] += static_cast<std::uint64_t>(f->grants());
    for (const auto& u : users_) {
      if (u->client().killed()) continue;
      const auto& k = u->kind();
      if (k.gate && j.most_holders(k.resources()[0]) == k.request.permits) ++tally_["all permits"];
      const auto lost = u->count("lost deadline_passed") + u->count("lost node_deleted") +
                        u->count("lost session_expired");
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
                    [this](simulated::client& dead) { replace(dead); },
                    [this](const char* fault) { note(fault); }}};
  std::vector<lock_kind> kinds_;
  std::vector<locker_pointer> users_;
  std::string layout_name_;          // of what::together, as are these
  std::vector<std::string> labels_;  // of kinds_
  std::map<const locker*, std::string> label_of_;
  std::vector<std::shared_ptr<classic>> foreign_;
  bool mismatch_ = false;  // not all who are here may share the path
  bool numbers_round_ = false;
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

std::vector<std::string> lock_combinations() {
  std::vector<std::string> all;
  auto faults = trouble::all();
  faults.insert(faults_by_hand.begin(), faults_by_hand.end());
  for (const auto& l : layout_names)
    for (const auto& fault : faults) {
      for (std::size_t i = 0; i < our_kinds.size(); ++i)
        for (std::size_t j = i; j < our_kinds.size(); ++j)
          all.push_back(combination(our_kinds[i], our_kinds[j], l, fault));
      // Other libraries know nothing of the end of the numbers.
      if (fault == "last_numbers" || fault == "numbers_round") continue;
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
        "numbers come round"}}};
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
