#include "cli/doctor/raw_connection.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

namespace conclave::cli {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t longest_answer = 1 << 20;

std::chrono::milliseconds left(deadline until) {
  return std::max(
      std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now()), 0ms);
}

connect_problem explain(int error, bool is_unix) {
  switch (error) {
    case ECONNREFUSED:
      return {"connection refused",
              is_unix ? "its server has exited; start it again"
                      : "no process listens there; check that the server runs, and its port"};
    case ETIMEDOUT: return {"no answer", "check the address, the machine and the firewalls"};
    case EHOSTUNREACH:
    case ENETUNREACH: return {"no route to the host", "check the address and the network"};
    case ENOENT:
      return {"the socket does not exist", "check that the server runs; try: conclave serve"};
    case EACCES:
    case EPERM: return {"no permission to use the socket", "it belongs to another user or group"};
    default: return {std::strerror(error), ""};
  }
}

std::vector<socket_address> resolve_unix(const endpoint& host, connect_problem& problem) {
  socket_address a;
  auto* const to = reinterpret_cast<sockaddr_un*>(&a.bytes);
  if (host.socket_path.size() >= sizeof to->sun_path) {
    problem = {"the path is too long for a socket", "use at most 107 bytes"};
    return {};
  }
  to->sun_family = AF_UNIX;
  std::memcpy(to->sun_path, host.socket_path.data(), host.socket_path.size());
  a.size = sizeof *to;
  a.text = host.socket_path;
  return {a};
}

std::string last_tls_error() {
  const auto code = ERR_get_error();
  const char* const reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "the server closed the connection" : reason;
}

std::chrono::system_clock::time_point time_of(const ASN1_TIME* t) {
  std::tm parts{};
  if (t == nullptr || ASN1_TIME_to_tm(t, &parts) != 1) return {};
  return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

bool load_files(SSL_CTX* c, const tls_options& o) {
  if (o.ca_file.empty() ? SSL_CTX_set_default_verify_paths(c) != 1
                        : SSL_CTX_load_verify_file(c, o.ca_file.c_str()) != 1)
    return false;
  if (o.certificate_file.empty()) return true;
  const std::string password{o.key_password.reveal()};
  SSL_CTX_set_default_passwd_cb_userdata(c, const_cast<char*>(password.c_str()));
  const auto& key = o.key_file.empty() ? o.certificate_file : o.key_file;
  const bool loaded = SSL_CTX_use_certificate_chain_file(c, o.certificate_file.c_str()) == 1 &&
                      SSL_CTX_use_PrivateKey_file(c, key.c_str(), SSL_FILETYPE_PEM) == 1;
  SSL_CTX_set_default_passwd_cb_userdata(c, nullptr);
  return loaded;
}

void expect_host(SSL* s, const std::string& host, bool verify) {
  std::array<unsigned char, sizeof(in6_addr)> number{};
  const bool is_number = ::inet_pton(AF_INET, host.c_str(), number.data()) == 1 ||
                         ::inet_pton(AF_INET6, host.c_str(), number.data()) == 1;
  if (!is_number) SSL_set_tlsext_host_name(s, host.c_str());
  if (!verify) return;
  if (is_number)
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(s), host.c_str());
  else
    SSL_set1_host(s, host.c_str());
}

}  // namespace

std::vector<socket_address> resolve(const endpoint& host, connect_problem& problem) {
  if (!host.socket_path.empty()) return resolve_unix(host, problem);
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code =
      ::getaddrinfo(host.host.c_str(), std::to_string(host.port).c_str(), &wanted, &found);
  if (code == EAI_NONAME || code == EAI_NODATA) {
    problem = {"unknown host name '" + host.host + "'",
               "check the spelling; try: getent hosts " + host.host};
    return {};
  }
  if (code != 0) {
    problem = {std::string{"cannot look up '"} + host.host + "': " + ::gai_strerror(code),
               "check the name server of this machine"};
    return {};
  }
  std::vector<socket_address> all;
  for (const auto* a = found; a != nullptr; a = a->ai_next) {
    socket_address one;
    std::memcpy(&one.bytes, a->ai_addr, a->ai_addrlen);
    one.size = a->ai_addrlen;
    std::array<char, NI_MAXHOST> text{};
    ::getnameinfo(a->ai_addr, a->ai_addrlen, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
    one.text = text.data();
    all.push_back(one);
  }
  ::freeaddrinfo(found);
  return all;
}

void raw_connection::ssl_end::operator()(ssl_st* s) const noexcept { SSL_free(s); }

raw_connection::raw_connection(raw_connection&& other) noexcept
    : fd_{std::exchange(other.fd_, -1)}, tls_{std::move(other.tls_)} {}

raw_connection::~raw_connection() {
  tls_.reset();
  if (fd_ >= 0) ::close(fd_);
}

std::optional<raw_connection> raw_connection::to(const socket_address& at, deadline until,
                                                 connect_problem& why) {
  const bool is_unix = at.bytes.ss_family == AF_UNIX;
  raw_connection c{::socket(at.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
  int error = 0;
  if (::connect(c.fd_, reinterpret_cast<const sockaddr*>(&at.bytes), at.size) != 0) error = errno;
  if (error == EINPROGRESS) {
    pollfd p{c.fd_, POLLOUT, 0};
    socklen_t size = sizeof error;
    error = ETIMEDOUT;
    if (::poll(&p, 1, static_cast<int>(left(until).count())) > 0)
      ::getsockopt(c.fd_, SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error != 0) {
    why = explain(error, is_unix);
    return {};
  }
  ::fcntl(c.fd_, F_SETFL, 0);  // blocking from here on, with timeouts
  return c;
}

void raw_connection::set_timeout(deadline until) const {
  const auto ms = std::max(left(until), 1ms).count();  // zero would mean no timeout
  const timeval t{ms / 1000, static_cast<suseconds_t>(ms % 1000 * 1000)};
  ::setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t);
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t);
}

std::optional<tls_facts> raw_connection::start_tls(const tls_options& options,
                                                   const std::string& host, deadline until,
                                                   connect_problem& why) {
  set_timeout(until);
  ERR_clear_error();
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> c{SSL_CTX_new(TLS_client_method()),
                                                       &SSL_CTX_free};
  SSL_CTX_set_verify(c.get(), SSL_VERIFY_PEER, nullptr);
  if (!load_files(c.get(), options)) {
    why = {"cannot read the certificates or the key: " + last_tls_error(),
           "check --tls-ca, --tls-cert, --tls-key and the password of the key"};
    return {};
  }
  tls_.reset(SSL_new(c.get()));
  SSL_set_fd(tls_.get(), fd_);
  expect_host(tls_.get(), host, options.verify_host);
  if (SSL_connect(tls_.get()) != 1) {
    const auto verdict = SSL_get_verify_result(tls_.get());
    if (verdict == X509_V_ERR_HOSTNAME_MISMATCH || verdict == X509_V_ERR_IP_ADDRESS_MISMATCH)
      why = {"its certificate is for another host than '" + host + "'",
             "connect with the name in the certificate, or use --tls-any-host"};
    else if (verdict != X509_V_OK)
      why = {
          std::string{"its certificate is not trusted: "} + X509_verify_cert_error_string(verdict),
          "pass the CA certificates of the servers with --tls-ca"};
    else
      why = {"TLS failed: " + last_tls_error(), "check that this is the TLS port"};
    return {};
  }
  tls_facts f;
  f.protocol = SSL_get_version(tls_.get());
  if (const auto* const certificate = SSL_get0_peer_certificate(tls_.get())) {
    std::array<char, 256> name{};
    X509_NAME_oneline(X509_get_subject_name(certificate), name.data(),
                      static_cast<int>(name.size()));
    f.subject = name.data();
    f.valid_until = time_of(X509_get0_notAfter(certificate));
  }
  return f;
}

bool raw_connection::speaks_tls(deadline until) {
  set_timeout(until);
  ERR_clear_error();
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> c{SSL_CTX_new(TLS_client_method()),
                                                       &SSL_CTX_free};
  tls_.reset(SSL_new(c.get()));
  SSL_set_fd(tls_.get(), fd_);
  // The server may refuse us because we have no certificate, after it has sent its own.
  return SSL_connect(tls_.get()) == 1 || SSL_get0_peer_certificate(tls_.get()) != nullptr;
}

std::string raw_connection::query(const std::string& word, deadline until) {
  const auto size = static_cast<int>(word.size());
  set_timeout(until);
  if (tls_ ? SSL_write(tls_.get(), word.data(), size) != size
           : ::send(fd_, word.data(), word.size(), MSG_NOSIGNAL) != size)
    return {};
  std::string answer;
  std::array<char, 4096> buffer{};
  while (answer.size() < longest_answer) {
    if (left(until) == 0ms) return {};
    set_timeout(until);
    const auto n = tls_ ? SSL_read(tls_.get(), buffer.data(), static_cast<int>(buffer.size()))
                        : ::recv(fd_, buffer.data(), buffer.size(), 0);
    if (n <= 0) break;
    answer.append(buffer.data(), static_cast<std::size_t>(n));
  }
  return answer;
}

}  // namespace conclave::cli
