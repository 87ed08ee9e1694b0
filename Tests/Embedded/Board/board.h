// What a program of Tests/Embedded needs of the machine that it runs on.
#include <stdint.h>

/// Reads up to `size` octets from the controller, and waits for the first one until `milliseconds` have passed.
/// Returns the number of octets, -1 at the end of the stream.
int32_t board_read(uint8_t *octets, int32_t size, int32_t milliseconds);
/// Writes octets to the controller.
void board_write(const uint8_t *octets, int32_t size);
/// The time since the start.
uint64_t board_microseconds(void);
/// Writes text to the log.
void board_log(const uint8_t *text, int32_t size);
/// The octets of the heap that are in use, and the deepest stack so far; 0 where the machine does not measure it.
int32_t board_heap(void);
int32_t board_stack(void);
