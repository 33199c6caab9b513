#include "server/store/sqlite_store.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <random>
#include <string>
#include <string_view>
#include <utility>

#include "server/store/column_text.hpp"
#include "server/store/load_image.hpp"
#include "server/store/open_store.hpp"
#include "server/store/store_error.hpp"

namespace conclave::server_impl {
namespace {

// The name is random, because the folder may contain files of other users.
std::filesystem::path temporary_name_for(const std::filesystem::path& file) {
  std::random_device random;
  std::array<char, 32> suffix{};
  std::snprintf(suffix.data(), suffix.size(), ".%08x%08x.part", random(), random());
  auto name = file;
  name += suffix.data();
  return name;
}

}  // namespace

struct sqlite_store::impl {
  impl(const store_files& files, const sqlite_store_options& options)
      : opened{files, options},
        wal_bytes{options.wal_bytes},
        shrink_pages{options.shrink_pages},
        // A page and its header have 4120 bytes. The last quarter is for the commit that exceeds
        // the limit.
        checkpoint_pages{options.wal_bytes / 4120 * 3 / 4},
        next_checkpoint{checkpoint_pages} {}

  void write(const batch& changes);
  void write_node(const batch::node& node);
  void checkpoint();
  bool shrink();
  // Makes all later commits fail: only the next start can read what is on the disk.
  void fail_permanently(const std::string& reason);

  open_store opened;
  database& db = *opened.db;

  statement begin_statement{db, "BEGIN"};
  statement commit_statement{db, "COMMIT"};
  statement put_node{db, "INSERT OR REPLACE INTO nodes VALUES (?,?,?,?,?,?,?,?,?,?,?,?)"};
  statement remove_node{db, "DELETE FROM nodes WHERE path = ?"};
  statement put_children{db, "INSERT OR REPLACE INTO children VALUES (?,?,?)"};
  statement remove_children{db, "DELETE FROM children WHERE path = ?"};
  statement put_session{db, "INSERT OR REPLACE INTO sessions VALUES (?,?,?)"};
  statement remove_session{db, "DELETE FROM sessions WHERE id = ?"};
  statement put_zxid{db, "UPDATE meta SET value = ? WHERE key = 'zxid'"};

  std::int64_t zxid = db.integer("SELECT value FROM meta WHERE key = 'zxid'").value_or(0);
  std::int64_t wal_bytes;
  std::int64_t shrink_pages;
  std::int64_t checkpoint_pages;
  std::int64_t next_checkpoint;
  duration_histogram flushes;
  std::string permanent_failure;  // not empty: the reason why all later commits fail

  // The last ACL and its text: most nodes in a batch share one ACL.
  std::shared_ptr<const acl> last_acl;
  std::string last_acl_text;
};

void sqlite_store::impl::write(const batch& changes) {
  begin_statement.run();
  for (const std::string_view path : changes.removed_nodes) {
    remove_node.run(path);
    remove_children.run(path);
  }
  for (const auto& node : changes.nodes) write_node(node);
  for (const auto& [path, row] : changes.parents) put_children.run(path, row.creates, row.pzxid);
  for (const auto id : changes.removed_sessions) remove_session.run(id);
  for (const auto& s : changes.sessions) {
    put_session.run(s.id, s.timeout_ms, blob{{s.password.data(), s.password.size()}});
  }
  put_zxid.run(changes.zxid);
  const auto began = std::chrono::steady_clock::now();
  commit_statement.run();
  flushes.add(std::chrono::steady_clock::now() - began);
}

void sqlite_store::impl::write_node(const batch::node& node) {
  const auto& row = *node.row;
  if (row.access != last_acl) {
    last_acl_text = row.access ? acl_to_text(*row.access) : std::string{};
    last_acl = row.access;
  }
  put_node.run(node.path, node_kind_to_text(row.kind), row.owner, row.ttl_ms, row.czxid, row.mzxid,
               row.ctime_ms, row.mtime_ms, row.version, row.aversion,
               std::string_view{last_acl_text},
               row.data ? blob{*row.data} : blob{.bytes = {}, .null = true});
}

// The WAL is durable already, so an error here does not affect earlier commits. But later commits
// must fail: after a failed sync, Linux marks the lost pages as clean, and the next sync succeeds.
void sqlite_store::impl::checkpoint() {
  try {
    db.checkpoint();
    next_checkpoint = checkpoint_pages;
  } catch (const database_error& error) {
    if (!error.is_disk_full()) return fail_permanently(error.what());
    next_checkpoint = db.wal_pages() + checkpoint_pages;  // the WAL grows until then
  }
}

bool sqlite_store::impl::shrink() {
  const auto pages = db.integer("PRAGMA main.page_count").value_or(0);
  const auto free_pages = db.integer("PRAGMA main.freelist_count").value_or(0);
  if (free_pages > std::max(shrink_pages, pages / 8)) {
    db.run("PRAGMA main.incremental_vacuum(" + std::to_string(shrink_pages) + ')');
    if (db.wal_pages() >= next_checkpoint) checkpoint();
    if (db.integer("PRAGMA main.freelist_count") < free_pages) return true;
    // The file was not created with auto_vacuum and cannot shrink.
  }
  // Only a checkpoint shortens the main file.
  const auto main_bytes = opened.volume.size(opened.files.main()).value_or(0);
  const auto used_bytes = static_cast<std::uint64_t>(pages * store_page_size);
  if (main_bytes <= used_bytes && db.wal_size() <= wal_bytes) return false;
  db.truncate_wal();
  next_checkpoint = checkpoint_pages;
  db.preallocate_wal(wal_bytes);
  db.release_memory();
  return false;
}

void sqlite_store::impl::fail_permanently(const std::string& reason) {
  permanent_failure = "cannot write " + opened.files.main().native() + " (" + reason +
                      "); check the disk, then start the server again";
  db.checkpoint_on_close(false);
}

sqlite_store::sqlite_store(const std::filesystem::path& folder, sqlite_store_options options) {
  const store_files files{folder};
  try {
    impl_ = std::make_unique<impl>(files, options);
  } catch (const database_error& error) {
    files.throw_store_error(error);
  }
}

sqlite_store::~sqlite_store() = default;

image sqlite_store::load() {
  try {
    return load_image(impl_->db, impl_->opened.files);
  } catch (const database_error& error) {
    impl_->opened.files.throw_store_error(error);
  }
}

void sqlite_store::check_folder() {
  auto& p = *impl_;
  if (p.permanent_failure.empty() && !p.opened.folder_lock->is_valid()) {
    p.permanent_failure =
        p.opened.files.folder.native() +
        " was removed or replaced under the running server; start the server again";
    p.db.checkpoint_on_close(false);  // the WAL of that name may belong to another server
  }
  if (!p.permanent_failure.empty()) throw store_error{p.permanent_failure};
}

void sqlite_store::commit(const batch& changes) {
  auto& p = *impl_;
  check_folder();
  if (changes.zxid < p.zxid) throw store_error{"internal error: the zxid of a commit decreased"};
  try {
    p.write(changes);
  } catch (const database_error& error) {
    p.db.rollback();
    if (!error.is_disk_full() || p.db.in_transaction()) {
      p.fail_permanently(error.what());
      throw store_error{p.permanent_failure};
    }
    p.checkpoint();  // leaves more space for the next commit
    p.opened.files.throw_store_error(error);
  } catch (...) {
    p.db.rollback();
    if (p.db.in_transaction()) p.fail_permanently("a failed commit could not be rolled back");
    throw;
  }
  p.zxid = changes.zxid;
  if (p.db.wal_pages() >= p.next_checkpoint) p.checkpoint();
}

bool sqlite_store::shrink() {
  auto& p = *impl_;
  check_folder();
  try {
    return p.shrink();
  } catch (const database_error& error) {
    p.db.rollback();
    if (error.is_disk_full() && !p.db.in_transaction()) return false;
    p.fail_permanently(error.what());
    throw store_error{p.permanent_failure};
  }
}

disk_usage sqlite_store::usage() const noexcept {
  const auto& files = impl_->opened.files;
  disk_usage found;
  try {
    found.store_bytes = impl_->opened.volume.size(files.main()).value_or(0);
    found.journal_bytes =
        static_cast<std::uint64_t>(std::max<std::int64_t>(impl_->db.wal_size(), 0));
    std::error_code unknown;
    const auto space = std::filesystem::space(files.folder, unknown);
    if (!unknown) found.free_bytes = space.available;
  } catch (const std::exception&) {  // the next commit reports it
  }
  return found;
}

const duration_histogram& sqlite_store::flush_times() const noexcept { return impl_->flushes; }

const dropped_rows& sqlite_store::dropped() const noexcept { return impl_->opened.dropped; }

void sqlite_store::backup(const std::filesystem::path& file) {
  auto& p = *impl_;
  if (!p.permanent_failure.empty()) throw store_error{p.permanent_failure};
  const auto target = std::filesystem::absolute(file);
  if (p.opened.volume.size(target)) {
    throw store_error{target.native() + " exists already; choose another name for the backup"};
  }
  try {
    p.opened.copy_to(target, temporary_name_for(target));
  } catch (const database_error& error) {
    const auto what = "cannot write the backup " + target.native() + " (" + error.what() + ')';
    if (error.is_disk_full()) throw disk_full{what + "; make room on the disk"};
    throw store_error{what};
  }
}

}  // namespace conclave::server_impl
