#include "differential/operation.hpp"

#include <array>
#include <cstdio>
#include <string_view>

#include "wire/multi.hpp"
#include "wire/records.hpp"

namespace conclave::differential {
namespace {

using wire::opcode;

constexpr auto reconfig = static_cast<opcode>(16);

std::string_view view(const text& t) { return t ? std::string_view{*t} : std::string_view{}; }

std::vector<wire::acl_record> records(const std::vector<acl_entry>& acl) {
  std::vector<wire::acl_record> out;
  out.reserve(acl.size());
  for (const auto& a : acl) out.push_back({a.permissions, view(a.scheme), view(a.id)});
  return out;
}

std::vector<std::string_view> views(const std::vector<path_ref>& paths) {
  std::vector<std::string_view> out;
  out.reserve(paths.size());
  for (const auto& p : paths) out.push_back(view(p.name));
  return out;
}

void write_body(wire::writer& out, const operation& o,
                const std::function<std::int64_t(zxid_ref)>& zxid_of) {
  const auto path = view(o.path.name);
  switch (o.type) {
    case opcode::create:
    case opcode::create2:
    case opcode::create_container:
      out(wire::create_request{path, view(o.data), records(o.acl), o.flags});
      break;
    case opcode::create_ttl:
      out(wire::create_ttl_request{path, view(o.data), records(o.acl), o.flags, o.ttl_ms});
      break;
    case opcode::remove:
    case opcode::check: out(wire::path_version_request{path, o.version.number}); break;
    case opcode::exists:
    case opcode::get_data:
    case opcode::get_children:
    case opcode::get_children2: out(wire::path_watch_request{path, o.watch}); break;
    case opcode::set_data: out(wire::set_data_request{path, view(o.data), o.version.number}); break;
    case opcode::set_acl: out(wire::set_acl_request{path, records(o.acl), o.version.number}); break;
    case opcode::add_watch:
    case opcode::check_watches:
    case opcode::remove_watches: out(wire::path_type_request{path, o.number}); break;
    case opcode::auth: out(wire::auth_request{0, view(o.scheme), view(o.data)}); break;
    case opcode::sasl: out(wire::sasl_record{view(o.data)}); break;
    case opcode::set_watches:
      out(wire::set_watches_request{zxid_of(o.since), views(o.lists[data_list]),
                                    views(o.lists[exist_list]), views(o.lists[child_list])});
      break;
    case opcode::set_watches2:
      out(wire::set_watches2_request{zxid_of(o.since), views(o.lists[data_list]),
                                     views(o.lists[exist_list]), views(o.lists[child_list]),
                                     views(o.lists[persistent_list]),
                                     views(o.lists[recursive_list])});
      break;
    case opcode::multi:
    case opcode::multi_read:
      for (const auto& part : o.parts) {
        out(wire::multi_header{part.type, false, -1});
        write_body(out, part, zxid_of);
      }
      out(wire::multi_end);
      break;
    case opcode::ping:
    case opcode::close_session:
    case opcode::who_am_i: break;
    default:  // getACL, sync and such; and unknown ones
      out(wire::path_record{path});
      if (o.type == reconfig) out(std::string_view{}, std::string_view{}, std::int64_t{-1});
      break;
  }
}

std::string describe(const path_ref& p) {
  const auto behind = p.name.value_or("");
  switch (p.how) {
    case path_ref::kind::known: return "(known node " + std::to_string(p.number) + ")" + behind;
    case path_ref::kind::made: return "(sequential node " + std::to_string(p.number) + ")" + behind;
    default: return quoted(p.name);
  }
}

std::string describe(const std::vector<acl_entry>& acl) {
  std::string out = "[";
  for (const auto& a : acl) {
    if (out.size() > 1) out += ", ";
    out += std::to_string(a.permissions) + " " + quoted(a.scheme) + ":" + quoted(a.id);
  }
  return out + "]";
}

std::string describe(const version_ref& v) {
  switch (v.how) {
    case version_ref::kind::right: return "the right one";
    case version_ref::kind::wrong: return "a wrong one";
    default: return std::to_string(v.number);
  }
}

std::string describe(const zxid_ref& z) {
  switch (z.how) {
    case zxid_ref::kind::change: return "change #" + std::to_string(z.number);
    case zxid_ref::kind::seen_before: return "the last seen before it came back";
    default: return std::to_string(z.number);
  }
}

}  // namespace

bool is_creation(opcode type) {
  return type == opcode::create || type == opcode::create2 || type == opcode::create_container ||
         type == opcode::create_ttl;
}

bool is_change(opcode type) {
  return is_creation(type) || type == opcode::remove || type == opcode::set_data ||
         type == opcode::set_acl;
}

bool is_sequential(const operation& o) {
  return is_creation(o.type) && (o.flags == 2 || o.flags == 3 || o.flags == 6);
}

const char* name_of(opcode type) {
  switch (type) {
    case opcode::create: return "create";
    case opcode::remove: return "delete";
    case opcode::exists: return "exists";
    case opcode::get_data: return "getData";
    case opcode::set_data: return "setData";
    case opcode::get_acl: return "getACL";
    case opcode::set_acl: return "setACL";
    case opcode::get_children: return "getChildren";
    case opcode::sync: return "sync";
    case opcode::ping: return "ping";
    case opcode::get_children2: return "getChildren2";
    case opcode::check: return "check";
    case opcode::multi: return "multi";
    case opcode::create2: return "create2";
    case opcode::check_watches: return "checkWatches";
    case opcode::remove_watches: return "removeWatches";
    case opcode::create_container: return "createContainer";
    case opcode::delete_container: return "deleteContainer";
    case opcode::create_ttl: return "createTTL";
    case opcode::multi_read: return "multiRead";
    case opcode::auth: return "auth";
    case opcode::set_watches: return "setWatches";
    case opcode::sasl: return "sasl";
    case opcode::get_ephemerals: return "getEphemerals";
    case opcode::get_all_children_number: return "getAllChildrenNumber";
    case opcode::set_watches2: return "setWatches2";
    case opcode::add_watch: return "addWatch";
    case opcode::who_am_i: return "whoAmI";
    case opcode::create_session: return "createSession";
    case opcode::close_session: return "closeSession";
    case opcode::error: return "error";
  }
  return type == reconfig ? "reconfig" : "unknown";
}

const char* name_of(action what) {
  switch (what) {
    case action::send: return "sends";
    case action::disconnect: return "hangs up";
    case action::reconnect: return "comes back on a new connection";
    case action::use_wrong_password: return "comes back with a wrong password";
    case action::use_future_zxid: return "comes back having seen a zxid still to come";
    case action::take_over: return "comes back while its old connection is still open";
    case action::bad_length: return "sends a frame of an impossible length";
    case action::expire: return "expires";
    case action::await_removal: return "waits for removals";
    case action::restart: return "restart";
  }
  return "";
}

const char* name_of_error(std::int32_t error) {
  switch (error) {
    case 0: return "ok";
    case -1: return "SystemError";
    case -2: return "RuntimeInconsistency";
    case -5: return "MarshallingError";
    case -6: return "Unimplemented";
    case -8: return "BadArguments";
    case -101: return "NoNode";
    case -102: return "NoAuth";
    case -103: return "BadVersion";
    case -108: return "NoChildrenForEphemerals";
    case -110: return "NodeExists";
    case -111: return "NotEmpty";
    case -112: return "SessionExpired";
    case -114: return "InvalidACL";
    case -115: return "AuthFailed";
    case -118: return "SessionMoved";
    case -121: return "NoWatcher";
    case -123: return "ReconfigDisabled";
    default: return "error";
  }
}

std::string quoted(const text& t) {
  constexpr std::size_t shown = 100;
  if (!t) return "null";
  std::string out = "\"";
  for (const char c : t->substr(0, shown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      std::array<char, 8> hex{};
      std::snprintf(hex.data(), hex.size(), "\\x%02x", byte);
      out += hex.data();
    } else {
      out += c;
    }
  }
  out += '"';
  if (t->size() > shown)
    out += "... (" + std::to_string(t->size()) + " bytes, hash " +
           std::to_string(std::hash<std::string>{}(*t)) + ")";
  return out;
}

bool ends_connection(const operation& o) {
  switch (o.type) {
    case opcode::close_session:
    case opcode::error: return true;  // no request has that number
    case opcode::auth:
      return o.truncated_to || (o.scheme != "digest" && o.scheme != "ip") || !o.data;
    case opcode::sasl: return o.truncated_to.has_value();
    default: return std::string_view{name_of(o.type)} == "unknown";
  }
}

std::string describe(const operation& o) {
  std::string out = name_of(o.type);
  if (out == "unknown") out += " opcode " + std::to_string(static_cast<std::int32_t>(o.type));
  const auto add = [&out](const char* what, const std::string& value) {
    out += std::string{" "} + what + "=" + value;
  };
  switch (o.type) {
    case opcode::create:
    case opcode::create2:
    case opcode::create_container:
    case opcode::create_ttl:
      out += " " + describe(o.path);
      add("data", quoted(o.data));
      add("acl", describe(o.acl));
      add("flags", std::to_string(o.flags));
      if (o.type == opcode::create_ttl) add("ttl", std::to_string(o.ttl_ms));
      break;
    case opcode::remove:
    case opcode::check:
      out += " " + describe(o.path);
      add("version", describe(o.version));
      break;
    case opcode::set_data:
      out += " " + describe(o.path);
      add("data", quoted(o.data));
      add("version", describe(o.version));
      break;
    case opcode::set_acl:
      out += " " + describe(o.path);
      add("acl", describe(o.acl));
      add("version", describe(o.version));
      break;
    case opcode::exists:
    case opcode::get_data:
    case opcode::get_children:
    case opcode::get_children2:
      out += " " + describe(o.path);
      if (o.watch) out += " and watch";
      break;
    case opcode::add_watch:
    case opcode::check_watches:
    case opcode::remove_watches:
      out += " " + describe(o.path);
      add(o.type == opcode::add_watch ? "mode" : "type", std::to_string(o.number));
      break;
    case opcode::auth:
      add("scheme", quoted(o.scheme));
      add("as", quoted(o.data));
      break;
    case opcode::sasl: add("token", quoted(o.data)); break;
    case opcode::set_watches:
    case opcode::set_watches2: {
      constexpr std::array names{"data", "exist", "child", "persistent", "recursive"};
      add("since", describe(o.since));
      const std::size_t count = o.type == opcode::set_watches ? 3 : 5;
      for (std::size_t i = 0; i < count; ++i) {
        std::string paths;
        for (const auto& p : o.lists[i]) paths += (paths.empty() ? "" : " ") + describe(p);
        add(names[i], "(" + paths + ")");
      }
      break;
    }
    case opcode::multi:
    case opcode::multi_read:
      for (const auto& part : o.parts) out += "\n      - " + describe(part);
      break;
    case opcode::ping:
    case opcode::close_session:
    case opcode::who_am_i: break;
    default: out += " " + describe(o.path); break;
  }
  if (o.xid != 0) add("xid", std::to_string(o.xid));
  if (o.truncated_to)
    out += ", truncated after " + std::to_string(*o.truncated_to) + " bytes (modulo its size)";
  if (o.with_rest) out += ", with bytes behind it";
  return out;
}

std::string describe(const step& s) {
  std::string out = "session " + std::to_string(s.slot) + ": ";
  switch (s.what) {
    case action::send: break;
    case action::bad_length: return out + "sends a frame of length " + std::to_string(s.number);
    case action::expire: out = "a session expires that did: "; break;
    case action::restart: return "both servers are killed and started again";
    default: out += name_of(s.what); break;
  }
  if (s.old_client && s.what != action::send) out += " as an old client";
  for (const auto& o : s.operations)
    out += (s.operations.size() > 1 ? "\n    * " : "") + describe(o);
  return out;
}

std::string encode(const operation& o, const std::function<std::int64_t(zxid_ref)>& zxid_of) {
  std::string body;
  wire::writer out{body};
  write_body(out, o, zxid_of);
  if (o.truncated_to && !body.empty()) body.resize(*o.truncated_to % body.size());
  if (o.with_rest) body += "more than was asked for";
  return body;
}

}  // namespace conclave::differential
