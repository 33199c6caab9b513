// Loads all rows and checks that they form a tree. SQLite cannot check this.
#pragma once

#include "server/core/rows.hpp"

namespace conclave::server_impl {

class database;
struct store_files;

image load_image(database& db, const store_files& files);

}  // namespace conclave::server_impl
