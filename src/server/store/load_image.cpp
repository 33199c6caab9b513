#include "server/store/load_image.hpp"

#include <algorithm>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "server/core/node_path.hpp"
#include "server/core/text_hash.hpp"
#include "server/store/column_text.hpp"
#include "server/store/database.hpp"
#include "server/store/store_files.hpp"

namespace conclave::server_impl {
namespace {

class loader {
 public:
  loader(database& db, const store_files& files) : db_{db}, files_{files} {}

  image run() {
    load_zxid();
    load_sessions();
    load_nodes();
    check_tree();
    return std::move(out_);
  }

 private:
  [[noreturn]] void throw_corrupt(const std::string& what) const {
    files_.throw_store_error("is damaged (" + what + ')');
  }
  // The path is printed, so control bytes are replaced and its length is limited.
  [[noreturn]] void throw_corrupt(std::string_view path, const std::string& what) const {
    std::string shown{path.substr(0, 200)};
    std::ranges::replace_if(
        shown, [](unsigned char c) { return c < ' ' || c == 0x7f; }, '?');
    throw_corrupt("the node " + shown + ' ' + what);
  }

  void load_zxid() {
    const auto zxid =
        db_.integer("SELECT value FROM meta WHERE key = 'zxid' AND typeof(value) = 'integer'");
    if (!zxid || *zxid < 0) throw_corrupt("it has no zxid");
    out_.zxid = *zxid;
  }

  void load_sessions() {
    statement rows{db_, "SELECT id, timeout_ms, password FROM sessions"};
    while (rows.next()) {
      session_row s;
      s.id = rows.integer(0);
      s.timeout_ms = int32_column(rows, 1);
      const auto password = rows.bytes(2);
      if (password.size() != s.password.size()) throw_corrupt("a session has no password");
      std::ranges::copy(password, s.password.begin());
      sessions_.insert(s.id);
      out_.sessions.push_back(s);
    }
  }

  // Both queries are sorted by path, so one pass merges them.
  void load_nodes() {
    statement nodes{db_,
                    "SELECT path, kind, owner, ttl_ms, czxid, mzxid, ctime_ms, mtime_ms, version,"
                    " aversion, acl, data FROM nodes ORDER BY path"};
    statement children{db_, "SELECT path, creates, pzxid FROM children ORDER BY path"};
    bool more_children = children.next();
    while (nodes.next()) {
      auto& node = out_.nodes.emplace_back();
      node.path = nodes.bytes(0);
      load_node(nodes, node);
      node.children.pzxid = node.row.czxid;
      if (!more_children || children.bytes(0) != node.path) continue;
      node.children = {int32_column(children, 1), children.integer(2)};
      more_children = children.next();
    }
    if (more_children)
      throw_corrupt(children.bytes(0), "is missing, but its children were counted");
  }

  void load_node(const statement& columns, image::node& node) {
    auto& row = node.row;
    const auto kind = node_kind_from_text(columns.bytes(1));
    if (!kind) throw_corrupt(node.path, "is of an unknown kind");
    row.kind = *kind;
    row.owner = columns.integer(2);
    row.ttl_ms = columns.integer(3);
    row.czxid = columns.integer(4);
    row.mzxid = columns.integer(5);
    row.ctime_ms = columns.integer(6);
    row.mtime_ms = columns.integer(7);
    row.version = int32_column(columns, 8);
    row.aversion = int32_column(columns, 9);
    row.access = shared_acl(columns.bytes(10));
    if (!row.access) throw_corrupt(node.path, "has an acl that cannot be read");
    if (!columns.null(11)) row.data.emplace(columns.bytes(11));
  }

  // Most nodes share one of a few ACLs.
  std::shared_ptr<const acl> shared_acl(std::string_view text) {
    if (const auto known = acls_.find(text); known != acls_.end()) return known->second;
    auto parsed = acl_from_text(text);
    if (!parsed) return nullptr;
    return acls_[std::string{text}] = std::make_shared<const acl>(std::move(*parsed));
  }

  std::int32_t int32_column(const statement& columns, int column) const {
    const auto value = columns.integer(column);
    if (value < std::numeric_limits<std::int32_t>::min() ||
        value > std::numeric_limits<std::int32_t>::max()) {
      throw_corrupt("a number is too large");
    }
    return static_cast<std::int32_t>(value);
  }

  void check_tree() const {
    std::vector<std::string_view> open;  // ancestors of the last node, and the last node
    for (auto at = out_.nodes.begin(); at != out_.nodes.end(); ++at) {
      const auto& node = *at;
      const std::string_view path = node.path;
      if (!path.starts_with('/') || (path.size() > 1 && path.ends_with('/'))) {
        throw_corrupt(path, "has an invalid path");
      }
      if (path.size() > 1) {
        const auto parent = parent_path(path);
        while (!open.empty() && open.back() != parent) open.pop_back();
        if (open.empty()) {  // "/a-b" lies between "/a" and "/a/b"
          if (!std::ranges::binary_search(out_.nodes.begin(), at, parent, {}, &image::node::path))
            throw_corrupt(path, "has no parent");
          open.push_back(parent);
        }
      }
      open.push_back(path);
      if (node.row.kind == node_kind::ephemeral && !sessions_.contains(node.row.owner)) {
        throw_corrupt(path, "is ephemeral, and its session is missing");
      }
      if (std::max({node.row.czxid, node.row.mzxid, node.children.pzxid}) > out_.zxid) {
        throw_corrupt(path, "is newer than the zxid of the store");
      }
    }
    if (out_.nodes.empty() && (out_.zxid != 0 || !out_.sessions.empty())) {
      throw_corrupt("the node / is missing");
    }
  }

  database& db_;
  const store_files& files_;
  image out_;
  std::unordered_set<std::int64_t> sessions_;
  std::unordered_map<std::string, std::shared_ptr<const acl>, text_hash, std::equal_to<>> acls_;
};

}  // namespace

image load_image(database& db, const store_files& files) { return loader{db, files}.run(); }

}  // namespace conclave::server_impl
