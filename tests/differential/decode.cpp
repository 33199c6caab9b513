#include "differential/decode.hpp"

#include <algorithm>

#include "wire/multi.hpp"
#include "wire/records.hpp"

namespace conclave::differential {
namespace {

using wire::opcode;

constexpr std::int32_t marshalling_error = -5;

text owned(std::string_view s) { return s.data() == nullptr ? text{} : text{std::string{s}}; }

class decoder {
 public:
  decoder(const operation& asked, std::string_view frame, numbering& numbers)
      : asked_{asked}, in_{frame}, numbers_{numbers} {}

  decoded_reply run() {
    const auto header = in_.read<wire::reply_header>();
    out_.error = header.error;
    line("xid", std::to_string(header.xid));
    line("error", std::to_string(header.error) + " " + name_of_error(header.error));
    line("zxid", acknowledges_change(header.error) ? numbers_.change(header.zxid)
                                                   : numbers_.reached(header.zxid));
    if (header.error == 0)
      body();
    else if (header.error == marshalling_error)
      return std::move(out_);  // Apache's server may send a partial body, which clients ignore
    if (!in_.ok()) line("TOO SHORT", "");
    if (in_.ok() && !in_.at_end()) line("UNREAD", std::to_string(in_.remaining()) + " bytes");
    return std::move(out_);
  }

 private:
  void line(const std::string& name, const std::string& value) {
    out_.words += "    " + name + ": " + value + "\n";
  }

  bool acknowledges_change(std::int32_t error) const {
    if (error != 0) return false;
    if (asked_.type == opcode::close_session) return true;
    if (asked_.type != opcode::multi) return is_change(asked_.type);
    auto ahead = in_;
    const auto first = ahead.read<wire::multi_header>();
    return ahead.ok() && !first.done && first.type != opcode::error &&
           std::any_of(asked_.parts.begin(), asked_.parts.end(),
                       [](const auto& part) { return is_change(part.type); });
  }

  node_stat stat() {
    const auto s = in_.read<wire::stat_record>().value;
    line("czxid", numbers_.exactly(s.czxid));
    line("mzxid", numbers_.exactly(s.mzxid));
    line("ctime", numbers_.time(s.czxid, s.ctime));
    line("mtime", numbers_.time(s.mzxid, s.mtime));
    line("version", std::to_string(s.version));
    line("cversion", std::to_string(s.cversion));
    line("aversion", std::to_string(s.aversion));
    line("ephemeralOwner", numbers_.session(s.ephemeral_owner));
    line("dataLength", std::to_string(s.data_length));
    line("numChildren", std::to_string(s.num_children));
    line("pzxid", numbers_.exactly(s.pzxid));
    return s;
  }

  void stat_of(const text& path) {
    const auto s = stat();
    if (path) out_.stats.emplace_back(*path, s);
  }

  // Calls f for each element, or writes that the list is null.
  template <class F>
  void list(const char* name, F f) {
    const auto count = in_.read<std::int32_t>();
    line(name, count == -1 ? "null" : std::to_string(count));
    for (std::int32_t i = 0; i < count && in_.ok(); ++i) f();
  }

  // The order is ignored, because Apache's server uses a hash table.
  void names() {
    std::vector<std::string> all;
    list("names", [&] { all.push_back(quoted(owned(in_.read<std::string_view>()))); });
    std::sort(all.begin(), all.end());
    for (const auto& name : all) line("-", name);
  }

  void acl() {
    struct entry {
      std::int32_t permissions;
      text scheme, id;
    };
    std::vector<entry> all;
    list("acl", [&] {
      const auto r = in_.read<wire::acl_record>();
      all.push_back({r.permissions, owned(r.scheme), owned(r.id)});
    });
    // The order of entries from "auth" is ignored, because Apache's server uses a hash table.
    for (auto begin = all.begin(); begin != all.end();) {
      const auto end = std::find_if(begin, all.end(), [&](const entry& e) {
        return e.scheme != "digest" || e.permissions != begin->permissions;
      });
      std::sort(begin, end, [](const entry& x, const entry& y) { return x.id < y.id; });
      begin = end == begin ? begin + 1 : end;
    }
    for (const auto& e : all)
      line("-", std::to_string(e.permissions) + " " + quoted(e.scheme) + ":" + quoted(e.id));
  }

  void identities() {
    std::vector<std::string> all;
    list("identities", [&] {
      const auto r = in_.read<wire::identity_record>();
      all.push_back(quoted(owned(r.scheme)) + ":" + quoted(owned(r.id)));
    });
    std::sort(all.begin(), all.end());  // the order of a hash table
    for (const auto& i : all) line("-", i);
  }

  void data() { line("data", quoted(owned(in_.read<std::string_view>()))); }

  text path() {
    auto p = owned(in_.read<std::string_view>());
    line("path", quoted(p));
    return p;
  }

  void created(const operation& by, bool with_stat) {
    const auto p = path();
    if (!p) return;
    out_.created.push_back(*p);
    if (is_sequential(by)) out_.sequential.push_back(*p);
    if (with_stat) stat_of(p);
  }

  void body() {
    switch (asked_.type) {
      case opcode::create: return created(asked_, false);
      case opcode::create2:
      case opcode::create_container:
      case opcode::create_ttl: return created(asked_, true);
      case opcode::remove: return out_.removed.push_back(asked_.path.name.value_or(""));
      case opcode::exists:
      case opcode::set_data:
      case opcode::set_acl: return stat_of(asked_.path.name);
      case opcode::get_data: data(); return stat_of(asked_.path.name);
      case opcode::get_acl: acl(); return stat_of(asked_.path.name);
      case opcode::get_children:
      case opcode::get_ephemerals: return names();
      case opcode::get_children2: names(); return stat_of(asked_.path.name);
      case opcode::get_all_children_number:
      case opcode::add_watch: return line("number", std::to_string(in_.read<std::int32_t>()));
      case opcode::sync: path(); return;
      case opcode::sasl: return data();
      case opcode::who_am_i: return identities();
      case opcode::multi:
      case opcode::multi_read: return parts();
      default: return;
    }
  }

  void parts() {
    for (std::size_t i = 0;; ++i) {
      const auto header = in_.read<wire::multi_header>();
      if (!in_.ok()) return;
      line("part " + std::to_string(i), std::string{header.done ? "end" : name_of(header.type)} +
                                            " (" +
                                            std::to_string(static_cast<std::int32_t>(header.type)) +
                                            "), error " + std::to_string(header.error));
      if (header.done) return;
      static const operation nothing{};
      const auto& by = i < asked_.parts.size() ? asked_.parts[i] : nothing;
      switch (header.type) {
        case opcode::error: {
          const auto error = in_.read<std::int32_t>();
          line("error", std::to_string(error) + " " + name_of_error(error));
          if (out_.part_error == 0) out_.part_error = error;
          break;
        }
        case opcode::create: created(by, false); break;
        case opcode::create2: created(by, true); break;
        case opcode::set_data: stat_of(by.path.name); break;
        case opcode::remove: out_.removed.push_back(by.path.name.value_or("")); break;
        case opcode::check: break;
        case opcode::get_data:
          data();
          stat_of(by.path.name);
          break;
        case opcode::get_children: names(); break;
        default: line("UNKNOWN PART", ""); return;
      }
    }
  }

  const operation& asked_;
  wire::reader in_;
  numbering& numbers_;
  decoded_reply out_;
};

}  // namespace

decoded_reply decode_reply(const operation& asked, std::string_view frame, numbering& numbers) {
  return decoder{asked, frame, numbers}.run();
}

std::string decode_event(std::string_view frame) {
  wire::reader in{frame};
  const auto header = in.read<wire::reply_header>();
  const auto event = in.read<wire::watcher_event>();
  static const std::vector<std::string> names{"None", "NodeCreated", "NodeDeleted",
                                              "NodeDataChanged", "NodeChildrenChanged"};
  const auto type = static_cast<std::size_t>(event.type);
  std::string out = type < names.size() ? names[type] : "type " + std::to_string(event.type);
  out += " " + quoted(owned(event.path)) + ", state " + std::to_string(event.state);
  if (header.zxid != -1 || header.error != 0)
    out += ", zxid " + std::to_string(header.zxid) + ", error " + std::to_string(header.error);
  if (!in.ok() || !in.at_end()) out += ", NOT OF THE RIGHT SIZE";
  return out;
}

}  // namespace conclave::differential
