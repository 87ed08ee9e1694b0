#include "primitives.h"

#include "mbedtls/aes.h"
#include "mbedtls/cmac.h"
#include "mbedtls/ecp.h"
#include "mbedtls/memory_buffer_alloc.h"

void arc4random_buf(void *octets, size_t size);


void primitives_start(void *memory, size_t size) { mbedtls_memory_buffer_alloc_init(memory, size); }

int32_t primitives_encrypt(const uint8_t key[16], const uint8_t plaintext[16], uint8_t ciphertext[16]) {
  mbedtls_aes_context aes;
  mbedtls_aes_init(&aes);
  int result = mbedtls_aes_setkey_enc(&aes, key, 128);
  if (result == 0) result = mbedtls_aes_crypt_ecb(&aes, MBEDTLS_AES_ENCRYPT, plaintext, ciphertext);
  mbedtls_aes_free(&aes);
  return result;
}

int32_t primitives_cmac(const uint8_t key[16], const uint8_t *message, size_t size, uint8_t mac[16]) {
  const mbedtls_cipher_info_t *cipher = mbedtls_cipher_info_from_type(MBEDTLS_CIPHER_AES_128_ECB);
  return mbedtls_cipher_cmac(cipher, key, 128, message, size, mac);
}

// mbedTLS blinds the coordinates of a multiplication with random numbers.
static int random_octets(void *context, unsigned char *octets, size_t size) {
  (void)context;
  arc4random_buf(octets, size);
  return 0;
}

/// Multiplies a point, the generator where it is NULL, and writes the coordinates of the product, y only where it is wanted.
static int multiply(const uint8_t scalar[32], const uint8_t *point, uint8_t *x, uint8_t *y) {
  mbedtls_ecp_group curve;
  mbedtls_ecp_point product, factor;
  mbedtls_mpi number;
  mbedtls_ecp_group_init(&curve);
  mbedtls_ecp_point_init(&product);
  mbedtls_ecp_point_init(&factor);
  mbedtls_mpi_init(&number);
  int result = mbedtls_ecp_group_load(&curve, MBEDTLS_ECP_DP_SECP256R1);
  if (result == 0) result = mbedtls_mpi_read_binary(&number, scalar, 32);
  if (result == 0) result = mbedtls_ecp_check_privkey(&curve, &number);
  if (result == 0 && point) {
    result = mbedtls_mpi_read_binary(&factor.X, point, 32);
    if (result == 0) result = mbedtls_mpi_read_binary(&factor.Y, point + 32, 32);
    if (result == 0) result = mbedtls_mpi_lset(&factor.Z, 1);
    if (result == 0 && mbedtls_ecp_check_pubkey(&curve, &factor)) result = PRIMITIVES_NOT_ON_CURVE;
  }
  if (result == 0) result = mbedtls_ecp_mul(&curve, &product, &number, point ? &factor : &curve.G, random_octets, NULL);
  if (result == 0) result = mbedtls_mpi_write_binary(&product.X, x, 32);
  if (result == 0 && y) result = mbedtls_mpi_write_binary(&product.Y, y, 32);
  mbedtls_mpi_free(&number);
  mbedtls_ecp_point_free(&factor);
  mbedtls_ecp_point_free(&product);
  mbedtls_ecp_group_free(&curve);
  return result;
}

int32_t primitives_public_key(const uint8_t private_key[32], uint8_t public_key[64]) {
  return multiply(private_key, NULL, public_key, public_key + 32);
}

int32_t primitives_shared_secret(const uint8_t private_key[32], const uint8_t public_key[64], uint8_t secret[32]) {
  return multiply(private_key, public_key, secret, NULL);
}
