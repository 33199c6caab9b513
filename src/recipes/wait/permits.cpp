#include "recipes/wait/permits.hpp"

#include <algorithm>
#include <utility>

#include "recipes/error_class.hpp"
#include "recipes/parent_record.hpp"
#include "recipes/sequence_number.hpp"

namespace conclave::recipes {
namespace {

// Returns true if this may be the name of a sequential node of any layout.
bool ends_in_number(std::string_view name) {
  const auto readings = split_sequence_number(name);
  return std::any_of(readings.begin(), readings.end(), [](const auto& r) { return r.has_value(); });
}

}  // namespace

std::string wait_for_permit::name_in_use() const {
  return request().layout.name_prefix(request().role) + format_number(last_number);
}

task<error_code> wait_for_permit::wait_for_grant() {
  node_watch leases_watch{context, watch_kind::children};
  error_code ec;
  for (bool agreed = false;;) {
    leases there;
    // The first read sets no watch, because none is needed if a permit is free.
    const bool watches = agreed;
    if (watches) {
      const auto pending = context.send(
          requests::children(context.defaults(), own().parent, leases_watch.set(own().parent)),
          context.in_session());
      auto got = co_await pending;
      ec = got.ec;
      if (ec) leases_watch.read_failed();
      const auto& names = got.value.names;
      there = {names.size(), std::find(names.begin(), names.end(), own().name) != names.end()};
    } else {
      ec = co_await agree_on_number(there);
      agreed = !ec;
    }
    if (ec == errc::no_node) ec = own_was_deleted();
    if (context.interrupted()) {
      ec = context.interruption();
      break;
    }
    if (ec && !is_connection_error(ec)) break;
    if (ec) continue;
    if (!there.own_exists) {
      ec = own_was_deleted();
      break;
    }
    if (there.count <= request().permits) break;
    if (!request().waits()) {
      ec = errc::lock_busy;
      break;
    }
    while (watches && leases_watch.current() == node_watch::state::set && !context.interrupted())
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
// contender is ahead. So the parent record must contain the number of permits before we list the
// path, and must still contain it afterwards.
task<error_code> wait_for_permit::agree_on_number(leases& found_leases) {
  const auto& path = request().semaphore_path;
  for (;;) {
    std::optional<pending_reply<std::optional<node_stat>>> folder, node;
    std::optional<pending_reply<children_result>> children;
    std::optional<pending_reply<get_result>> before, after;
    {
      const single_write in_one_write{context.session()};
      const auto where = context.in_session();
      before = context.send(requests::get(context.defaults(), path, {}), where);
      folder = context.send(requests::exists(context.defaults(), own().parent, {}), where);
      // If the node exists after the count, the count includes it.
      node = context.send(requests::exists(context.defaults(), own().path(), {}), where);
      children = context.send(requests::children(context.defaults(), path, {}), where);
      after = context.send(requests::get(context.defaults(), path, {}), where);
    }
    const auto old = co_await *before;
    const auto held = co_await *folder;
    const auto mine = co_await *node;
    const auto beside = co_await *children;
    const auto read = co_await *after;
    if (held.ec || mine.ec) co_return held.ec ? held.ec : mine.ec;
    found_leases.count = held.value ? static_cast<std::size_t>(held.value->num_children) : 0;
    found_leases.own_exists = mine.value && mine.value->czxid == nodes.czxid();
    // Without permission to read the path, we cannot check that all contenders use the same number
    // of permits.
    if (beside.ec == errc::no_auth || read.ec == errc::no_auth) co_return error_code{};
    if (beside.ec || read.ec) co_return beside.ec ? beside.ec : read.ec;
    if (const auto ec = co_await find_lock_without_permits(beside.value.names); ec) co_return ec;
    const auto recorded = parse_parent_record(read.value.data, read.value.stat);
    if (recorded.permits == request().permits) {
      if (!old.ec && old.value.stat.mzxid == read.value.stat.mzxid) co_return error_code{};
      continue;
    }
    bool others = false;
    if (recorded.permits && found_leases.count > 1) {
      const auto listing = context.send(requests::children(context.defaults(), own().parent, {}),
                                        context.in_session());
      const auto listed = co_await listing;
      if (listed.ec) co_return listed.ec;
      const auto& names = listed.value.names;
      others = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
        return name != own().name && is_lease(name);
      });
    }
    if (others) {
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
    bool contends = layout::in_known_layout(name);
    if (!contends && ends_in_number(name)) {  // a custom layout's node, or a folder
      const auto pending = context.send(
          requests::exists(context.defaults(), request().semaphore_path + '/' + name, {}),
          context.in_session());
      const auto node = co_await pending;
      if (node.ec) co_return node.ec;
      contends = node.value && node.value->ephemeral_owner != 0;
    }
    if (!contends) continue;
    found.mismatch = "node " + name + " belongs to a lock without permits";
    co_return errc::permits_mismatch;
  }
  co_return error_code{};
}

}  // namespace conclave::recipes
