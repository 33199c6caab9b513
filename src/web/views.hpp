// The event streams of the page. A stream first sends everything, then only what has changed.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "web/background_query.hpp"
#include "web/http.hpp"
#include "web/live_model.hpp"
#include "web/ui.hpp"

namespace conclave::web {

// What all streams of one page send.
struct page_facts {
  std::string servers;  // the connect string
  std::vector<std::string> paths;
  bool allows_actions = false;
};

using address_query = background_query<session_addresses>;

// Shares the texts between streams of the same view. Used only on the HTTP server's thread.
class event_streams {
 public:
  event_streams(const live_model& model, address_query& addresses, page_facts facts);
  ~event_streams();
  event_streams(const event_streams&) = delete;
  event_streams& operator=(const event_streams&) = delete;

  // All recipes, without their contenders.
  std::unique_ptr<event_source> overview();
  // One recipe with its contenders and holds. An empty layout or kind matches any.
  std::unique_ptr<event_source> recipe(std::string path, std::string layout, std::string kind);
  std::unique_ptr<event_source> graph();
  // Only the state of the connection and of the server, which all streams send.
  std::unique_ptr<event_source> server();

 private:
  class stream;
  class overview_stream;
  class recipe_stream;
  class graph_stream;
  class server_stream;

  struct cached {
    std::uint64_t from = 0, to = 0;
    bool was_connected = false;
    shared_text text;
  };
  std::string status(const live_state& s) const;

  const live_model& model_;
  address_query& addresses_;
  const page_facts facts_;
  cached overview_;  // the last difference that a stream sent
};

}  // namespace conclave::web
