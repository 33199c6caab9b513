// The tables of the store. See docs/store.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace conclave::server_impl {

class database;

// "Cncl" at offset 68 of the file. It identifies the file as a Conclave store.
inline constexpr std::uint32_t store_application_id = 0x436e636c;

inline constexpr int store_format = 1;

inline constexpr std::int64_t store_page_size = 4096;  // smaller and larger pages are slower

// Upgrades from one format to the next. All steps of an upgrade run in one transaction.
struct upgrade_step {
  int from;
  const char* sql;
};

// All steps from the oldest supported format to store_format.
std::span<const upgrade_step> known_upgrades();

// Creates the tables in an empty file, with zxid 0.
void create_schema(database& db);

// Runs the steps from `format` to store_format and records the new format. The caller begins and
// commits the transaction. Throws store_error if a step is missing.
void upgrade_schema(database& db, int format, std::span<const upgrade_step> steps);

// Removes all sessions and ephemeral nodes, as if all sessions ended at the next zxid. The caller
// begins and commits the transaction.
void drop_sessions(database& db, std::int64_t& sessions, std::int64_t& ephemeral_nodes);

std::string this_program();  // "conclave 0.1.0"

}  // namespace conclave::server_impl
