#ifndef CLIBCRYPTO_SHIM_H
#define CLIBCRYPTO_SHIM_H

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>
#include <openssl/params.h>
#include <openssl/rand.h>

// Names that are macros over an expression, which Swift does not import.
static const int EVP_PKEY_PUBLIC_KEY_SELECTION = EVP_PKEY_PUBLIC_KEY;
static const int EVP_PKEY_KEYPAIR_SELECTION = EVP_PKEY_KEYPAIR;

// Parameter names and the curve's name with a life of their own: libcrypto keeps the pointers, so a string that Swift
// lends for one call would be gone when they are read.
static inline const char *ble_parameter_group(void) { return OSSL_PKEY_PARAM_GROUP_NAME; }
static inline const char *ble_parameter_public_key(void) { return OSSL_PKEY_PARAM_PUB_KEY; }
static inline const char *ble_parameter_private_key(void) { return OSSL_PKEY_PARAM_PRIV_KEY; }
static inline const char *ble_group_p256(void) { return SN_X9_62_prime256v1; }

#endif
