#include "recipes/wait/permits.hpp"

#include <algorithm>
#include <utility>

#include "recipes/error_class.hpp"
#include "recipes/parent_record.hpp"
#include "recipes/sequence_number.hpp"
#include "recipes/single_write.hpp"

namespace conclave::recipes {
namespace {

// Returns true if this may be the name of a sequential node of any layout.
bool ends_in_number(std::string_view name) {
  constexpr std::size_t digits = 10;
  return name.size() >= digits && name.find_last_not_of("0123456789") + digits + 1 <= name.size();
}

}  // namespace

std::string wait_for_permit::name_in_use() const {
  return request().layout.name_prefix(request().role) + format_number(last_number);
}

task<error_code> wait_for_permit::wait_for_grant() {
  node_watch leases_watch{context, watch_kind::children};
  error_code ec;
  for (bool agreed = false;;) {
    std::vector<std::string> names;
    // The first listing sets no watch, because none is needed if a permit is free.
    const bool watches = agreed;
    if (watches) {
      const auto asked = context.send(
          requests::children(context.defaults(), own().parent, leases_watch.set(own().parent)),
          context.in_session());
      auto got = co_await asked;
      ec = got.ec;
      if (ec) leases_watch.read_failed();
      names = std::move(got.value.names);
    } else {
      ec = co_await agree_on_number(names);
      agreed = !ec;
    }
    if (context.interrupted()) {
      ec = context.interruption();
      break;
    }
    if (ec == errc::no_node) ec = errc::waiter_node_deleted;
    if (ec && !is_connection_error(ec)) break;
    if (ec) continue;
    if (std::find(names.begin(), names.end(), own().name) == names.end()) {
      ec = errc::waiter_node_deleted;
      break;
    }
    if (names.size() <= request().permits) break;
    if (!request().waits()) {
      ec = errc::lock_busy;
      break;
    }
    while (watches && leases_watch.now() == node_watch::state::set && !context.interrupted())
      co_await context.changed;
  }
  leases_watch.forget();
  co_return ec;
}

// All holders of permits agree on the number of permits. The number is recorded in the semaphore's
// path. A contender that finds no other permit may change it.
//
// While a permit is held, no client must hold a lock without permits at that path. A contender for
// such a lock lists the path after it has created its node, unless the parent record proves that no
// contender is ahead. So the number must be in that record before we list the path, and must still
// be there afterwards.
task<error_code> wait_for_permit::agree_on_number(std::vector<std::string>& leases) {
  const auto& path = request().semaphore_path;
  for (;;) {
    std::optional<pending_reply<children_result>> permits, children;
    std::optional<pending_reply<get_result>> before, after;
    {
      const single_write in_one_write{context.session()};
      const auto where = context.in_session();
      before = context.send(requests::get(context.defaults(), path, {}), where);
      permits = context.send(requests::children(context.defaults(), own().parent, {}), where);
      children = context.send(requests::children(context.defaults(), path, {}), where);
      after = context.send(requests::get(context.defaults(), path, {}), where);
    }
    const auto old = co_await *before;
    auto held = co_await *permits;
    const auto beside = co_await *children;
    const auto read = co_await *after;
    leases = std::move(held.value.names);
    if (held.ec) co_return held.ec;
    // Without permission to read the path, we cannot check that all contenders use the same number.
    if (beside.ec == errc::no_auth || read.ec == errc::no_auth) co_return error_code{};
    if (beside.ec || read.ec) co_return beside.ec ? beside.ec : read.ec;
    if (const auto ec = co_await find_lock_without_permits(beside.value.names); ec) co_return ec;
    const auto recorded = parse_parent_record(read.value.data, read.value.stat);
    if (recorded.permits == request().permits) {
      if (!old.ec && old.value.stat.mzxid == read.value.stat.mzxid) co_return error_code{};
      continue;
    }
    const bool others = std::any_of(leases.begin(), leases.end(), [&](const std::string& name) {
      return name != own().name && is_lease(name);
    });
    if (recorded.permits && others) {
      found.mismatch = "it is in use with " + std::to_string(*recorded.permits) + " permits, not " +
                       std::to_string(request().permits);
      co_return errc::permits_mismatch;
    }
    if (!recorded.writable) co_return error_code{};
    const auto setting =
        context.send(requests::set(context.defaults(), path,
                                   format_permits_record(read.value.stat.czxid, request().permits),
                                   read.value.stat.version),
                     context.in_session());
    const auto set = co_await setting;
    if (context.interrupted()) co_return context.interruption();
    if (set.ec == errc::no_auth) co_return error_code{};
    if (set.ec && set.ec != errc::bad_version && !outcome_unknown(set.ec)) co_return set.ec;
  }
}

task<error_code> wait_for_permit::find_lock_without_permits(
    const std::vector<std::string>& children) {
  for (const auto& name : children) {
    bool contends = layout::known_elsewhere(name);
    if (!contends && ends_in_number(name)) {  // a custom layout's node, or a folder
      const auto asked = context.send(
          requests::exists(context.defaults(), request().semaphore_path + '/' + name, {}),
          context.in_session());
      const auto node = co_await asked;
      if (node.ec) co_return node.ec;
      contends = node.value && node.value->ephemeral_owner != 0;
    }
    if (!contends) continue;
    found.mismatch = "node " + name + " is of a lock without permits";
    co_return errc::permits_mismatch;
  }
  co_return error_code{};
}

}  // namespace conclave::recipes
