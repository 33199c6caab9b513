#include "certificates.hpp"

#include <sys/stat.h>

#include <cstdio>
#include <stdexcept>
#include <utility>

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

namespace conclave::testing {
namespace {

template <auto free_function>
struct freeing {
  template <class T>
  void operator()(T* object) const noexcept {
    free_function(object);
  }
};
using key_ptr = std::unique_ptr<EVP_PKEY, freeing<EVP_PKEY_free>>;
using certificate_ptr = std::unique_ptr<X509, freeing<X509_free>>;

void require(bool done, const char* step) {
  if (!done) throw std::runtime_error(std::string("cannot make a certificate: ") + step);
}

void set_random_serial(X509* certificate) {
  const std::unique_ptr<BIGNUM, freeing<BN_free>> number(BN_new());
  require(BN_rand(number.get(), 120, BN_RAND_TOP_ANY, BN_RAND_BOTTOM_ANY) == 1, "serial number");
  BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate));
}

void add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, freeing<X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  require(extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1,
          value.c_str());
}

certificate_ptr make_unsigned(const std::string& name, EVP_PKEY* key,
                              std::chrono::seconds valid_for) {
  certificate_ptr certificate(X509_new());
  require(certificate != nullptr, "X509_new");
  X509_set_version(certificate.get(), X509_VERSION_3);
  set_random_serial(certificate.get());
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -2L * 24 * 3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), static_cast<long>(valid_for.count()));
  X509_set_pubkey(certificate.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return certificate;
}

class pem_file {
 public:
  explicit pem_file(const std::filesystem::path& path) : file_(std::fopen(path.c_str(), "w")) {
    require(file_ != nullptr, path.c_str());
  }
  void add(EVP_PKEY* key) {
    ::fchmod(::fileno(file_.get()), 0600);  // others' keys are refused
    require(PEM_write_PKCS8PrivateKey(file_.get(), key, nullptr, nullptr, 0, nullptr, nullptr) == 1,
            "write the key");
  }
  void add(X509* certificate) {
    require(PEM_write_X509(file_.get(), certificate) == 1, "write the certificate");
  }

 private:
  std::unique_ptr<std::FILE, freeing<std::fclose>> file_;
};

}  // namespace

struct certificate_authority::identity {
  key_ptr key;
  certificate_ptr certificate;
};

certificate_authority::certificate_authority(std::filesystem::path folder, const std::string& name)
    : folder_(std::move(folder)),
      certificate_path_(folder_ / (name + ".pem")),
      self_(std::make_unique<identity>()) {
  self_->key.reset(EVP_EC_gen("P-256"));
  require(self_->key != nullptr, "key");
  self_->certificate = make_unsigned(name, self_->key.get(), std::chrono::hours(48));
  X509* const own = self_->certificate.get();
  X509_set_issuer_name(own, X509_get_subject_name(own));
  add_extension(own, own, NID_basic_constraints, "critical,CA:TRUE");
  add_extension(own, own, NID_key_usage, "critical,keyCertSign,cRLSign");
  add_extension(own, own, NID_subject_key_identifier, "hash");
  require(X509_sign(own, self_->key.get(), EVP_sha256()) > 0, "sign");
  pem_file(certificate_path_).add(own);
}

certificate_authority::~certificate_authority() = default;

certificate_files certificate_authority::issue(const std::string& name,
                                               const std::vector<std::string>& alternative_names,
                                               std::chrono::seconds valid_for) {
  const key_ptr key(EVP_EC_gen("P-256"));
  require(key != nullptr, "key");
  const certificate_ptr certificate = make_unsigned(name, key.get(), valid_for);
  X509* const issuer = self_->certificate.get();
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer));
  add_extension(certificate.get(), issuer, NID_basic_constraints, "critical,CA:FALSE");
  add_extension(certificate.get(), issuer, NID_key_usage, "critical,digitalSignature");
  add_extension(certificate.get(), issuer, NID_ext_key_usage, "serverAuth,clientAuth");
  std::string names;
  for (const auto& each : alternative_names) names += (names.empty() ? "" : ",") + each;
  if (!names.empty()) add_extension(certificate.get(), issuer, NID_subject_alt_name, names);
  require(X509_sign(certificate.get(), self_->key.get(), EVP_sha256()) > 0, "sign");

  certificate_files files{folder_ / (name + ".pem"), folder_ / (name + ".key"),
                          folder_ / (name + ".bundle.pem")};
  pem_file(files.key).add(key.get());
  pem_file chain(files.certificate);
  chain.add(certificate.get());
  chain.add(issuer);
  pem_file bundle(files.bundle);
  bundle.add(key.get());
  bundle.add(certificate.get());
  bundle.add(issuer);
  return files;
}

}  // namespace conclave::testing
