#include "simulation/users/locker.hpp"

#include <algorithm>
#include <utility>

#include "simulation/world/message_text.hpp"

namespace conclave::simulated {

// --- kinds

lock_kind a_mutex(std::vector<std::string> paths) {
  lock_kind k;
  k.request.parents = std::move(paths);
  return k;
}

lock_kind a_shared_mutex(std::string path) {
  lock_kind k;
  k.request.parents = {std::move(path)};
  k.request.role = role::writer;
  return k;
}

lock_kind a_semaphore(const std::string& path, std::size_t permits) {
  lock_kind k;
  k.gate.emplace();
  k.gate->parents = {path + "/locks"};
  k.request.granted_when = recipes::lock_request::rule::permits;
  k.request.permits = permits;
  k.request.semaphore_path = path;
  k.request.parents = {path + "/leases"};
  k.request.layout = layout::custom("lease-");
  k.request.if_session_ends = recipes::lock_request::on_session_end::fail;
  return k;
}

lock_kind a_named_mutex(const std::string& path) {
  const auto slash = path.rfind('/');
  lock_kind k;
  k.request.granted_when = recipes::lock_request::rule::fixed_name;
  k.request.watches_own_node = true;
  k.request.parents = {slash == 0 ? "/" : path.substr(0, slash)};
  k.request.name = path.substr(slash + 1);
  return k;
}

lock_kind an_election(std::string path) {
  lock_kind k;
  k.request.parents = {std::move(path)};
  k.request.layout = layout::election();
  k.request.data = recipes::lock_request::data_format::owner_only;
  k.request.mode = recipes::lock_request::wait_mode::tickets;
  return k;
}

std::vector<std::string> lock_kind::resources() const {
  if (request.granted_when == recipes::lock_request::rule::fixed_name)
    return {request.parents[0] + '/' + request.name};
  if (gate) return {request.semaphore_path};
  return request.parents;
}

std::vector<std::string> lock_kind::parents() const {
  auto all = request.parents;
  if (gate) all.push_back(gate->parents[0]);
  return all;
}

// --- locker

locker::locker(simulated::client& c, const lock_kind& kind, std::shared_ptr<judge> j)
    : client_{c.shared_from_this()}, kind_{kind}, judge_{std::move(j)} {}

void locker::make(lock_options o) {
  if (o.owner.empty()) o.owner = "somebody";
  const auto noting = [weak = weak_from_this()](std::string what) {
    return [weak, what = std::move(what)](const conclave::hold&) {
      if (const auto self = weak.lock()) self->note(what);
    };
  };
  o.on_suspended = noting("suspended");
  o.on_restored = [weak = weak_from_this()](const conclave::hold&) {
    const auto self = weak.lock();
    if (!self) return;
    self->note("restored");
    for (const auto& c : self->calls_)
      if (c->holding()) self->judge_->restored(*c);
  };
  if (o.on_revocation) o.on_revocation = noting("revocation");
  o.on_lost = [weak = weak_from_this()](const conclave::hold&, error_code why) {
    if (const auto self = weak.lock()) self->note("lost " + name_of(why));
  };
  if (o.on_enqueued)
    o.on_enqueued = [weak = weak_from_this()](std::size_t before_us) {
      if (const auto self = weak.lock()) self->note("enqueued " + std::to_string(before_us));
    };
  recipes::progress_callback follow;
  if (kind_.request.data == recipes::lock_request::data_format::owner_only) {
    o.tickets = false;
    steps_ = std::make_shared<recipes::candidacy>([weak = weak_from_this()](election_event e) {
      const auto self = weak.lock();
      if (!self) return;
      self->client_->post([weak, e = std::move(e)] {
        if (const auto again = weak.lock()) again->events_.push_back(e);
      });
    });
    follow = [s = steps_](const recipes::progress& p) { s->follow(p); };
  }
  object_ = std::make_shared<recipes::lock_object>(client_, kind_.request, kind_.gate, o, follow);
}

// Users are told outside of the scope, so they may call.
void locker::note(const std::string& what) {
  journal_.push_back(what);
  hold(kind_.request.role);
}

int locker::count(std::string_view what) const {
  return static_cast<int>(std::count(journal_.begin(), journal_.end(), what));
}

call_pointer locker::begin(role as, bool patient, std::function<void()> when_told) {
  const auto c = std::make_shared<call>();
  calls_.push_back(c);
  c->client = client_.get();
  c->as = as;
  c->when_told = std::move(when_told);
  c->who = std::make_shared<recipes::lock_object::caller>();
  c->who->role = as;
  c->who->waits = patient;
  c->who->complete = [weak = weak_from_this(), c_weak = std::weak_ptr{c}](error_code ec) {
    const auto self = weak.lock();
    const auto told = c_weak.lock();
    if (self && told) self->told(told, ec);
  };
  const recipes::session_context::scope inside{*client_};
  object_->acquire(c->who);
  return c;
}

void locker::told(const call_pointer& c, error_code ec) {
  if (++c->told > 1) judge_->complain("a call was told twice");
  c->ec = ec;
  c->told_at = judge_->now();
  if (!ec) {
    c->hold = hold(c->as);
    c->on_loss.emplace(c->hold->lost(), [this, raw = c.get()] {
      raw->lost_at = judge_->now();
      judge_->ended(*raw);
      judge_->where().tell([&] { return client_->name() + " has lost " + raw->hold->nodes()[0]; });
      if (raw->when_lost) raw->when_lost();
    });
    judge_->where().tell([&] { return client_->name() + " holds " + c->hold->nodes()[0]; });
    judge_->granted(*this, *c);
  }
  if (c->when_told) c->when_told();
}

void locker::give_up(const call_pointer& c) {
  c->gave_up = true;
  const recipes::session_context::scope inside{*client_};
  object_->give_up(c->who, error_code{ECANCELED, boost::system::system_category()});
}

void locker::unlock(const call_pointer& c) {
  c->unlocked = true;
  judge_->ended(*c);
  judge_->where().tell([&] { return client_->name() + " unlocks " + c->hold->nodes()[0]; });
  if (kind_.request.data != recipes::lock_request::data_format::owner_only) return unlock(c->as);
  const recipes::session_context::scope inside{*client_};
  object_->release_hold(c->hold->token());
}

void locker::when_all_gone(std::function<void()> f) {
  const recipes::session_context::scope inside{*client_};
  object_->when_all_gone(std::move(f));
}

void locker::unlock(role as) {
  const recipes::session_context::scope inside{*client_};
  object_->release(as, 0, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) ++self->confirmed_;
  });
}

void locker::downgrade(const call_pointer& c) {
  judge_->downgrades(*c);
  const recipes::session_context::scope inside{*client_};
  object_->downgrade([weak = weak_from_this(), c](error_code ec) {
    const auto self = weak.lock();
    if (!self) return;
    self->downgrades_.push_back(ec);
    self->judge_->downgraded(*c, ec);
  });
}

void locker::close() {
  for (const auto& c : calls_) {
    c->unlocked = true;
    judge_->ended(*c);
  }
  const recipes::session_context::scope inside{*client_};
  object_->close(errc::closed);
}

std::shared_ptr<recipes::hold_state> locker::hold(role as) {
  const recipes::session_context::scope inside{*client_};
  return object_->hold(as);
}

// --- judge

namespace {

checkers::exclusion::id id_of(const call& c) {
  return reinterpret_cast<checkers::exclusion::id>(c.hold.get());
}

}  // namespace

judge::judge(world& w, checkers::listener heard)
    : world_{w},
      heard_{std::move(heard)},
      exclusion_{[this](const std::string& what) { complain(what); },
                 [this](auto which) { return still_holds(which); }},
      order_{[this](const std::string& what) { complain(what); }} {}

void judge::complain(const std::string& what) {
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(now()).count();
  auto text = "at " + std::to_string(us) + " us: " + what;
  world_.tell([&] { return "WRONG: " + what; });
  if (heard_) heard_(text);
  complaints_.push_back(std::move(text));
}

// One that does not run cannot be told, but it can look at the clock.
bool judge::still_holds(checkers::exclusion::id which) const {
  const auto found = holds_.find(which);
  if (found == holds_.end()) return true;  // another library's, until it is ended
  const auto& c = *found->second;
  return c.holding() && !c.robbed && (!c.client->stood_still() || c.held());
}

void judge::granted(const locker& l, call& c) {
  ++grants;
  const auto me = c.hold->nodes().front();
  // Its node went before it was told that it holds it.
  if (const auto gone = robbed_.find(c.hold->token()); gone != robbed_.end()) {
    c.robbed = true;
    if (gone->second && must_know(c, *gone->second))
      complain(me + " granted, and its node was gone long before");
  }
  if (c.robbed || may_be_taken_for_another(c)) {
    c.robbed = true;
    ++excused_grants;
    return;
  }
  const bool shared = c.as == role::reader;
  shared_grants += shared;
  if (!c.held()) complain(me + " granted when its session's time was up");
  const auto& request = l.kind().request;
  const auto permits =
      request.granted_when == recipes::lock_request::rule::permits ? request.permits : 1;
  holds_[id_of(c)] = &c;
  for (const auto& resource : l.kind().resources()) {
    exclusion_.granted(resource, id_of(c), {me, permits, !c.alone()});
    // Those who go through the gate keep their order; by hand somebody may be put out of it.
    if (!l.kind().gate || robbed_.empty()) order_.granted(resource, c.hold->token(), me, shared);
  }
}

void judge::other_granted(const std::string& resource, checkers::exclusion::id id,
                          const std::string& node, std::int64_t token, bool shared) {
  exclusion_.granted(resource, id, {node, 1, shared});
  order_.granted(resource, token, node, shared);
}

// Somebody deleted a node by hand, and with it the parent: the name has come back. The one whose
// node it was may have removed it by its name before it heard of that, or be about to.
bool judge::may_be_taken_for_another(const call& c) const {
  using namespace std::chrono_literals;
  constexpr instant moment = 300ms;
  for (const auto& node : c.hold->nodes())
    for (auto [gone, end] = robbed_names_.equal_range(node); gone != end; ++gone) {
      const auto& [when, owner] = gone->second;
      const auto removed = owner != nullptr ? owner->ignorant_until(when, moment) : when + moment;
      if (now() < removed || now() < c.client->ignorant_until(removed, moment)) return true;
      // It had no connection, and has not verified its node on the new one yet.
      const auto attached = c.client->attached_since();
      if (attached > when && now() < attached + moment) return true;
    }
  return false;
}

// Nothing has kept the news from it.
bool judge::must_know(const call& c, instant since) const {
  using namespace std::chrono_literals;
  return now() >= since + 1s && c.client->attached() && c.client->attached_since() <= since &&
         c.client->slept_until() < since;
}

void judge::ended(const call& c) {
  if (c.hold) exclusion_.ended(id_of(c));
}

void judge::downgrades(call& c) {
  c.downgrading = true;
  exclusion_.shares(id_of(c));
}

void judge::downgraded(call& c, error_code ec) {
  c.downgrading = false;
  if (ec) {
    if (!c.robbed && c.holding() && c.held()) exclusion_.is_alone(id_of(c));
    return;
  }
  c.as = role::reader;
  c.robbed_at.reset();
  c.robbed = c.robbed || may_be_taken_for_another(c);  // it holds by another node from now on
}

bool judge::write(const locker& l, const call& c) {
  bool done = true;
  for (const auto& resource : l.kind().resources())
    done = resources_[resource].write(c.hold->token()) && done;
  if (!done && !c.robbed && c.holding() && c.held())
    complain(c.hold->nodes().front() + " is held, and its write was refused");
  return done;
}

std::uint64_t judge::stale_writes_refused() const {
  std::uint64_t n = 0;
  for (const auto& [path, r] : resources_) n += r.refused();
  return n;
}

void judge::expired(std::int64_t session) {
  for (const auto& l : lockers_)
    for (const auto& c : l->calls()) {
      if (!c->hold || c->unlocked || c->client->killed() || c->hold->session() != session) continue;
      ++expiries_of_holders;
      if (c->holding() && (!l->client().stood_still() || c->held()))
        complain(c->hold->nodes().front() + " expired before its holder was told");
    }
}

void judge::restored(const call& c) {
  if (c.robbed_at && *c.robbed_at < c.client->attached_since())
    complain(c.hold->nodes().front() + " holds on, and its node was gone before it connected");
}

bool judge::note_robbery(const std::string& path, const node_stat& node, bool sure) {
  using namespace std::chrono_literals;
  bool held = false;
  robbed_[node.czxid] = sure ? std::optional{now()} : std::nullopt;
  const simulated::client* owner = nullptr;
  for (const auto& l : lockers_)
    if (l->client().session().id == node.ephemeral_owner) owner = &l->client();
  robbed_names_.insert({path, {now(), owner}});
  for (const auto& l : lockers_)
    for (const auto& c : l->calls()) {
      if (!c->holding()) continue;
      // One that becomes a reader keeps its number, and may not know yet that it has another name.
      const auto same = [&](const std::string& its) {
        const auto slash = its.rfind('/');
        return its == path ||
               (c->downgrading && path.compare(0, slash + 1, its, 0, slash + 1) == 0 &&
                path.ends_with(its.substr(its.size() - 10)));
      };
      const auto nodes = c->hold->nodes();
      if (std::none_of(nodes.begin(), nodes.end(), same)) continue;
      held = c->robbed = true;
      // Of a reader that was a writer, and of another node under an old name, it is not known.
      if (!sure || c->downgrading || c->hold->token() != node.czxid) continue;
      c->robbed_at = now();
      world_.after(1s, [this, c] {
        if (c->holding() && c->robbed_at && must_know(*c, *c->robbed_at))
          complain(c->hold->nodes().front() + " is held, and its node has been gone for long");
      });
    }
  return held;
}

void judge::end() {
  for (const auto& l : std::exchange(lockers_, {}))
    for (const auto& c : l->calls()) {
      c->on_loss.reset();
      c->when_told = c->when_lost = {};
    }
}

void judge::expect_nothing_left() {
  std::set<std::string> parents;
  for (const auto& l : lockers_)
    for (const auto& parent : l->kind().parents()) parents.insert(parent);
  for (const auto& parent : parents) {
    if (parent == "/") continue;
    for (const auto& name : world_.by_hand().children(parent))
      if (!parents.contains(parent + '/' + name)) complain("left behind: " + parent + '/' + name);
  }
  for (const auto& l : lockers_) {
    if (l->client().killed()) continue;
    for (const auto& left : l->client().left_behind()) complain(left);
  }
  for (const auto& left : world_.watches_left()) complain(left);
}

// --- world

lock_world::lock_world(const world_options& options, checkers::listener heard)
    : world{options}, judge{std::make_shared<simulated::judge>(world, std::move(heard))} {
  world.expired = [j = judge](std::int64_t session) { j->expired(session); };
  if (!world.attach_all()) judge->complain("not everybody could connect");
}

locker_pointer lock_world::add(std::size_t client, const lock_kind& kind, lock_options o) {
  auto l = std::make_shared<locker>(world.client(client), kind, judge);
  l->make(std::move(o));
  judge->add(l);
  return l;
}

}  // namespace conclave::simulated
