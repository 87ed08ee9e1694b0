// The primitives of Bluetooth LE security by mbedTLS. Octets are most significant first. Each function returns 0, or the error
// of mbedTLS.
#include <stddef.h>
#include <stdint.h>

/// Gives mbedTLS the memory that it allocates from; before any other call.
void primitives_start(void *memory, size_t size);

int32_t primitives_encrypt(const uint8_t key[16], const uint8_t plaintext[16], uint8_t ciphertext[16]);
int32_t primitives_cmac(const uint8_t key[16], const uint8_t *message, size_t size, uint8_t mac[16]);
/// The coordinates x and y of the public key.
int32_t primitives_public_key(const uint8_t private_key[32], uint8_t public_key[64]);
/// The coordinate x of the product; `PRIMITIVES_NOT_ON_CURVE` for a public key that is no point of P-256.
int32_t primitives_shared_secret(const uint8_t private_key[32], const uint8_t public_key[64], uint8_t secret[32]);
static const int32_t PRIMITIVES_NOT_ON_CURVE = -0x4C80;
