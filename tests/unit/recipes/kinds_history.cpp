#include "kinds_history.hpp"

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "attempt.hpp"
#include "trouble.hpp"

namespace conclave::simulated {
namespace {

using namespace std::chrono_literals;

class history {
 public:
  history(std::uint64_t seed, kinds_tally& t) : random_{seed}, tally_{t}, c_{options()} {
    c_.judge->quiet = true;
    c_.world.expired = [this](std::int64_t session) {
      ++tally_.expiries;
      c_.judge->expired(session);
    };
    if (chance(2)) c_.world.by_hand().create("/locks");
    const auto tickets = chance(2);
    const auto kinds = pick_kinds();
    for (std::size_t i = 0; i < c_.world.clients(); ++i)
      for (const auto& k : kinds) {
        lock_options o;
        o.tickets = tickets;
        if (chance(3)) o.on_revocation = [](auto&) {};
        if (chance(4)) o.on_enqueued = [](auto) {};
        if (k.terms.bare) o.owner = "candidate " + std::to_string(draw(2));
        users_.push_back(c_.add(i, k, o));
      }
  }

  std::vector<std::string> run() {
    for (const auto& u : users_) act(u);
    trouble_.begin(400ms);
    others();
    c_.world.advance(end_);
    over_ = true;
    trouble_.heal();
    tally_.faults += trouble_.count();
    const bool all_done = c_.world.run_until([&] { return busy_ == 0; }, 10min);
    if (!all_done) complain_of_the_stuck();
    for (const auto& u : users_) u->close();
    c_.world.advance(3s);
    c_.judge->expect_nothing_left();
    count();
    return c_.judge->complaints();
  }

 private:
  std::uint64_t draw(std::uint64_t below) { return random_() % below; }
  bool chance(std::uint64_t one_in) { return draw(one_in) == 0; }
  instant within(instant most) {
    return instant{static_cast<std::int64_t>(draw(static_cast<std::uint64_t>(most.count())))};
  }

  world_options options() {
    world_options o;
    o.seed = random_();
    o.clients = 2 + draw(3);
    o.session_timeout = chance(4) ? 30s : chance(2) ? 4s : 1500ms;
    o.server.min_session_timeout = 1s;
    o.connect_wait = 10min;
    o.least_delay = 100us;
    o.most_delay = chance(2) ? 200us : 20ms;
    return o;
  }

  // One or two at a time, so that they meet. One object has one reader or one permit at a time, so
  // that it is known which hold is whose; so there are several objects.
  std::vector<lock_kind> pick_kinds() {
    std::vector<lock_kind> all;
    const auto permits = 1 + draw(3);
    const auto which = draw(5);
    for (int i = 0; i < 2; ++i) switch (which) {
        case 0: all.push_back(a_shared_mutex("/locks/one")); break;
        case 1: all.push_back(a_semaphore("/locks/slots", permits)); break;
        case 2: all.push_back(a_named_mutex("/names/one")); break;
        case 3: all.push_back(an_election("/locks/leader")); break;
        default: all.push_back(a_mutex(some_paths()));
      }
    if (chance(4)) all.push_back(chance(2) ? a_shared_mutex("/locks/two") : a_mutex({"/locks/b"}));
    return all;
  }
  std::vector<std::string> some_paths() {
    std::vector<std::string> paths{"/locks/a", "/locks/b", "/locks/d"};
    std::shuffle(paths.begin(), paths.end(), random_);
    paths.resize(1 + draw(3));
    return paths;
  }

  // --- one user

  void act(const locker_pointer& u) {
    c_.world.after(within(chance(3) ? 20ms : 300ms), [this, u] {
      if (over_) return;
      if (u->client().paused()) return act(u);
      const bool shared = u->kind().terms.role == role::writer;
      call_as(u, shared && !chance(3) ? role::reader : u->kind().terms.role);
      // Those of an exclusive lock take turns in the object.
      if (!u->kind().gate && !shared && chance(3)) call_as(u, role::exclusive);
    });
  }

  void call_as(const locker_pointer& u, role as) {
    ++busy_;
    ++tally_.calls;
    const bool patient = !chance(8);
    const auto a = patient ? u->lock(as) : u->try_lock(as);
    const std::weak_ptr<call> weak = a;
    a->when_told = [this, u, weak] {
      const auto mine = weak.lock();
      if (mine->ec) return done(u, mine);
      if (u->kind().gate) ++tally_.permits;
      if (u->kind().terms.bare) ++tally_.leaders;
      if (mine->as == role::writer && chance(2))
        later(u, mine, within(100ms), [this, u, mine] {
          if (mine->unlocked) return;
          u->downgrade(mine);
        });
      hold_on(u, mine);
    };
    if (a->told > 0) return a->when_told();  // it was not patient, and another caller has it
    if (chance(4))
      later(u, a, within(500ms), [this, u, a] {
        if (a->told == 0) ++tally_.given_up;
        u->give_up(a);
      });
  }

  void hold_on(const locker_pointer& u, const call_pointer& a) {
    const auto d = chance(3) ? instant{0} : within(chance(4) ? 8s : 300ms);
    later(u, a, d, [this, u, a] {
      if (a->unlocked) return;
      u->unlock(a);
      done(u, a);
    });
  }

  // A process that stands still does nothing.
  void later(const locker_pointer& u, const call_pointer& a, instant d, std::function<void()> f) {
    c_.world.after(d, [this, u, a, f = std::move(f)] {
      if (u->client().paused()) return later(u, a, 10ms, f);
      f();
    });
  }

  void done(const locker_pointer& u, const call_pointer& a) {
    --busy_;
    if (a->ec && !a->gave_up && a->ec != errc::taken) {
      ++tally_.refused;
      // Only what was done to its node by hand is a reason to fail.
      if (a->ec != errc::out_of_line || !robbery_)
        c_.judge->complain("a call for " + u->kind().resources()[0] + " failed: " + name_of(a->ec) +
                           (a->who->patient ? "" : ", not patient"));
    }
    const auto mine = [](const call_pointer& x) { return x->told == 0 || x->holding(); };
    if (std::none_of(u->calls().begin(), u->calls().end(), mine)) act(u);
  }

  // --- others who reach into the tree

  void others() {
    c_.world.after(within(600ms), [this] {
      if (over_) return;
      auto& hand = c_.world.by_hand();
      const auto& kind = users_[draw(users_.size())]->kind();
      const auto parents = kind.parents();
      const auto& parent = parents[draw(parents.size())];
      if (c_.world.server().up()) {
        auto names = hand.children(parent);
        if (kind.terms.rule == recipes::rule::unique_name) names = {kind.terms.name};
        if (!names.empty()) {
          const auto path = parent + '/' + names[draw(names.size())];
          // A holder that does not know yet that its name is somebody else's would take that one's.
          if (robbers_ && kind.terms.rule != recipes::rule::unique_name && chance(3)) {
            robbery_ = true;
            const auto czxid = hand.get(path).stat.czxid;
            if (!hand.remove(path)) ++tally_.robberies;
            tally_.robbed_holders += c_.judge->note_robbery(path, czxid);
          } else {
            hand.set(path, chance(4) ? "scribble" : "__REVOKE__");
            // Whose replies were lost cannot always tell then which of their nodes is whose.
            if (parents.size() > 1) robbery_ = true;
          }
        }
      }
      others();
    });
  }

  // --- faults

  // A fault that never hits a holder shows little.
  simulated::client* victim() {
    if (chance(2))
      for (const auto& u : users_)
        for (const auto& a : u->calls())
          if (a->holding()) {
            ++tally_.holders_hit;
            return &u->client();
          }
    return nullptr;
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
        if (a->told == 0 || a->holding())
          c_.judge->complain("stuck: client " + std::to_string(u->client().index()) + " at " +
                             u->kind().resources()[0] + (a->told == 0 ? " waits" : " holds"));
  }

  void count() {
    ++tally_.histories;
    tally_.grants += c_.judge->grants;
    tally_.shared_grants += c_.judge->shared_grants;
    tally_.holders_expired += c_.judge->expiries_of_holders;
    for (const auto& u : users_) {
      const auto& k = u->kind();
      if (k.gate && c_.judge->most_holders[k.terms.parents[0]] == k.terms.permits) ++tally_.full;
      tally_.revocations += u->count("revocation");
      tally_.suspended += u->count("suspended");
      tally_.losses += u->count("lost lock_lost") + u->count("lost session_expired");
      for (const auto ec : u->downgrades()) ++(ec ? tally_.failed_downgrades : tally_.downgrades);
      if (u->count("restored") > u->count("suspended"))
        c_.judge->complain("restored more often than suspended");
      // The notice of a loss comes once, and only to one that held it.
      int lost = 0;
      for (const auto& a : u->calls()) lost += a->lost();
      if (lost != u->count("lost lock_lost") + u->count("lost session_expired"))
        c_.judge->complain("a loss was not told once");
    }
  }

  std::mt19937_64 random_;
  kinds_tally& tally_;
  lock_contest c_;
  trouble trouble_{c_.world,
                   random_(),
                   {wire::opcode::create2, wire::opcode::multi, wire::opcode::remove},
                   [this] { return victim(); }};
  std::vector<locker_pointer> users_;
  instant end_ = chance(4) ? 20s : 5s;
  bool robbers_ = chance(3);
  bool robbery_ = false;
  bool over_ = false;
  int busy_ = 0;
};

}  // namespace

std::ostream& operator<<(std::ostream& out, const kinds_tally& t) {
  return out << t.histories << " histories, " << t.calls << " calls, " << t.grants << " grants ("
             << t.shared_grants << " shared, " << t.permits << " permits, " << t.leaders
             << " leaders), " << t.full << " times all permits, " << t.downgrades << " downgrades ("
             << t.failed_downgrades << " failed), " << t.revocations << " revocations told, "
             << t.robberies << " nodes deleted (" << t.robbed_holders << " of holders), "
             << t.faults << " faults (" << t.holders_hit << " hit a holder), " << t.suspended
             << " suspended, " << t.losses << " losses, " << t.expiries << " expiries ("
             << t.holders_expired << " of holders), " << t.given_up << " gave up, " << t.refused
             << " out of line";
}

std::vector<std::string> run_history(std::uint64_t seed, kinds_tally& t) {
  return history{seed, t}.run();
}

}  // namespace conclave::simulated
