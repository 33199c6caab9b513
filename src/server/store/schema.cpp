#include "server/store/schema.hpp"

#include <algorithm>

#include <conclave/version.hpp>

#include "server/store/database.hpp"
#include "server/store/store_error.hpp"

namespace conclave::server_impl {
namespace {

// SQLite stores this text with its comments; `.schema` shows it. `data` is the last column, so that
// the others can be read without it.
constexpr const char* tables = R"sql(
CREATE TABLE meta (
  key    TEXT PRIMARY KEY,
  value  ANY NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE nodes (
  path      TEXT PRIMARY KEY,
  kind      TEXT NOT NULL,     -- persistent, ephemeral, container or ttl
  owner     INTEGER NOT NULL,  -- the session of an ephemeral node
  ttl_ms    INTEGER NOT NULL,  -- of a ttl node
  czxid     INTEGER NOT NULL,  -- created
  mzxid     INTEGER NOT NULL,  -- data last changed
  ctime_ms  INTEGER NOT NULL,  -- since 1970, UTC
  mtime_ms  INTEGER NOT NULL,
  version   INTEGER NOT NULL,  -- of the data
  aversion  INTEGER NOT NULL,  -- of the acl
  acl       TEXT NOT NULL,     -- scheme:id:permissions, parted by spaces
  data      BLOB               -- null and empty are different
) STRICT, WITHOUT ROWID;

CREATE TABLE children (        -- a row for every node that ever had a child
  path     TEXT PRIMARY KEY,   -- of the parent
  creates  INTEGER NOT NULL,   -- children ever created: the next sequence number
  pzxid    INTEGER NOT NULL    -- the last creation or removal of a child
) STRICT, WITHOUT ROWID;

CREATE TABLE sessions (
  id          INTEGER PRIMARY KEY,
  timeout_ms  INTEGER NOT NULL,
  password    BLOB NOT NULL
) STRICT;
)sql";

}  // namespace

std::string this_program() { return std::string{"conclave "} + version; }

std::span<const upgrade_step> known_upgrades() { return {}; }  // format 1 is the first one

void create_schema(database& db) {
  db.run("PRAGMA page_size = " + std::to_string(store_page_size));
  db.run("PRAGMA encoding = 'UTF-8'");
  db.run("PRAGMA auto_vacuum = INCREMENTAL");  // for sqlite_store::shrink()
  db.run("BEGIN");
  db.run("PRAGMA application_id = " + std::to_string(store_application_id));
  db.run("PRAGMA user_version = " + std::to_string(store_format));
  db.run(tables);
  statement put{db, "INSERT INTO meta VALUES (?, ?)"};
  put.run("format", std::int64_t{store_format});
  put.run("created_by", std::string_view{this_program()});
  put.run("zxid", std::int64_t{0});
  db.run("COMMIT");
}

void drop_sessions(database& db, std::int64_t& sessions, std::int64_t& ephemeral_nodes) {
  sessions = db.integer("SELECT count(*) FROM sessions").value_or(0);
  ephemeral_nodes = db.integer("SELECT count(*) FROM nodes WHERE kind = 'ephemeral'").value_or(0);
  if (sessions == 0 && ephemeral_nodes == 0) return;
  db.run("UPDATE meta SET value = value + 1 WHERE key = 'zxid'");
  // rtrim() removes the last part of the path and leaves "PARENT/".
  db.run(R"sql(
UPDATE children SET pzxid = (SELECT value FROM meta WHERE key = 'zxid') WHERE path IN (
  SELECT iif(up = '/', up, substr(up, 1, length(up) - 1)) FROM (
    SELECT rtrim(path, replace(path, '/', '')) AS up FROM nodes WHERE kind = 'ephemeral'));
DELETE FROM children WHERE path IN (SELECT path FROM nodes WHERE kind = 'ephemeral');
DELETE FROM nodes WHERE kind = 'ephemeral';
DELETE FROM sessions;
)sql");
}

void upgrade_schema(database& db, int format, std::span<const upgrade_step> steps) {
  for (; format < store_format; ++format) {
    const auto step = std::ranges::find(steps, format, &upgrade_step::from);
    if (step == steps.end()) {
      throw store_error{"there is no upgrade from format " + std::to_string(format) + " to " +
                        std::to_string(format + 1)};
    }
    db.run(step->sql);
  }
  db.run("PRAGMA user_version = " + std::to_string(store_format));
  statement put{db, "INSERT OR REPLACE INTO meta VALUES (?, ?)"};
  put.run("format", std::int64_t{store_format});
  put.run("upgraded_by", std::string_view{this_program()});
}

}  // namespace conclave::server_impl
