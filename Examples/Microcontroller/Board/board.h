// What the thermometer needs of the board that it runs on. linux.c and cortex-m4.c implement it.
#include <stdint.h>

// The controller: a stream of H4 packets.

/// Takes octets that the controller has sent: up to `size` of them, 0 if there are none. -1: the controller is gone.
int32_t board_read(uint8_t *octets, int32_t size);
/// Writes octets to the controller, and waits until it has room for them.
void board_write(const uint8_t *octets, int32_t size);

// Time.

/// The time since the start, in microseconds.
uint64_t board_microseconds(void);
/// Sleeps until `deadline`, the time in microseconds, or until an octet arrives from the controller or the console.
void board_wait(uint64_t deadline);

// The console: text for people, and keys that they press.

void board_log(const uint8_t *text, int32_t size);
/// The next key; -1 if there is none.
int32_t board_key(void);

// Flash: pages that are erased to 0xFF, and whose bits are cleared by programming. The contents outlive the program.

enum { BOARD_FLASH_PAGES = 6, BOARD_FLASH_PAGE_SIZE = 512 };
void board_flash_read(int32_t page, uint8_t octets[BOARD_FLASH_PAGE_SIZE]);
void board_flash_erase(int32_t page);
void board_flash_program(int32_t page, const uint8_t *octets, int32_t size);

/// Writes a line to the console: the octets of the heap that are in use, how often memory was allocated, how many of
/// these allocations live, and the octets of the deepest stack so far. It allocates nothing.
void board_log_memory(void);
