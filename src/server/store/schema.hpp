// What the file looks like inside; docs/store.md explains it to people.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace conclave::server_impl {

class database;

// Offset 68 of the file: "Cncl". Tells our files from those of others.
inline constexpr std::uint32_t store_application_id = 0x436e636c;

inline constexpr int store_format = 1;

// From one format to the next. All that are needed run in one transaction.
struct upgrade_step {
  int from;
  const char* sql;
};

// Every step from the oldest format we still read to store_format.
std::span<const upgrade_step> known_upgrades();

// Lays out an empty file, zxid zero.
void create_schema(database& db);

// The steps from `format` to store_format, and the marks that go with them. The caller has the
// transaction. Throws store_error when a step is missing.
void upgrade_schema(database& db, int format, std::span<const upgrade_step> steps);

// Removes every session and every ephemeral node, as if all sessions had ended at the next zxid.
// The caller has the transaction.
void drop_sessions(database& db, std::int64_t& sessions, std::int64_t& ephemeral_nodes);

std::string this_program();  // "conclave 0.1.0"

}  // namespace conclave::server_impl
