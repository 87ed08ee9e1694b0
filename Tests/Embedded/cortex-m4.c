// The board of a program on the Cortex-M4 of QEMU's machine mps2-an386: the controller is on UART 0, the log on UART 1,
// the clock is SysTick.
#include "Board/board.h"

#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <string.h>

#define REGISTER(address) (*(volatile uint32_t *)(address))

/// The registers of a UART of the CMSDK.
enum { DATA = 0x00, STATE = 0x04, CONTROL = 0x08, BAUD = 0x10 };
enum { TRANSMITTER_FULL = 1, RECEIVER_FULL = 2 };
static const uint32_t controller = 0x40004000, console = 0x40005000;

extern uint32_t data_source, data_start, data_end, bss_start, bss_end, stack_top, heap_start, heap_end;
int main(int, char **);

static volatile uint32_t milliseconds_passed;
static const uint32_t stack_mark = 0xA5A5A5A5;

static void send(uint32_t uart, uint8_t octet) {
  while (REGISTER(uart + STATE) & TRANSMITTER_FULL) {}
  REGISTER(uart + DATA) = octet;
}

int32_t board_read(uint8_t *octets, int32_t size, int32_t milliseconds) {
  uint32_t start = milliseconds_passed;
  int32_t count = 0;
  while (count < size) {
    if (REGISTER(controller + STATE) & RECEIVER_FULL) {
      octets[count++] = (uint8_t)REGISTER(controller + DATA);
    } else if (count > 0 || (int32_t)(milliseconds_passed - start) >= milliseconds) {
      break;
    } else {
      __asm__ volatile("wfi");
    }
  }
  return count;
}

void board_write(const uint8_t *octets, int32_t size) {
  while (size-- > 0) send(controller, *octets++);
}

void board_log(const uint8_t *text, int32_t size) {
  while (size-- > 0) send(console, *text++);
}

uint64_t board_microseconds(void) { return milliseconds_passed * 1000ull; }

int32_t board_heap(void) { return mallinfo().uordblks; }

int32_t board_stack(void) {
  const uint32_t *word = &heap_end;
  while (*word == stack_mark) word++;
  return (int32_t)((const char *)&stack_top - (const char *)word);
}

// The functions that newlib and Swift's standard library need.

void *_sbrk(ptrdiff_t size) {
  static char *end = (char *)&heap_start;
  if (end + size > (char *)&heap_end) {
    errno = ENOMEM;
    return (void *)-1;
  }
  char *start = end;
  end += size;
  return start;
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
  *memory = memalign(alignment, size);
  return *memory ? 0 : ENOMEM;
}

// Not random: the machine has no source. A board must give its own.
void arc4random_buf(void *octets, size_t size) {
  static uint32_t state = 0x12345;
  for (uint8_t *octet = octets; size-- > 0; octet++) {
    state = state * 1664525u + 1013904223u;
    *octet = (uint8_t)(state >> 24);
  }
}

static void system_tick(void) { milliseconds_passed++; }

static void write_word(uint32_t word) {
  for (int shift = 28; shift >= 0; shift -= 4) send(console, "0123456789abcdef"[word >> shift & 15]);
}

__attribute__((used)) static void report_fault(const uint32_t *frame) {
  static const char text[] = "fault at ";
  board_log((const uint8_t *)text, sizeof text - 1);
  write_word(frame[6]);
  send(console, '\n');
  for (;;) {}
}

__attribute__((naked)) static void fault(void) { __asm__("mov r0, sp\n b report_fault"); }

void reset(void) {
  REGISTER(0xE000ED88) |= 0xF << 20;  // CPACR: the floating-point unit
  memcpy(&data_start, &data_source, (size_t)((char *)&data_end - (char *)&data_start));
  memset(&bss_start, 0, (size_t)((char *)&bss_end - (char *)&bss_start));
  for (uint32_t *word = &heap_end; word < (uint32_t *)__builtin_frame_address(0) - 64; word++) *word = stack_mark;
  REGISTER(controller + BAUD) = 16;
  REGISTER(controller + CONTROL) = 3;
  REGISTER(console + BAUD) = 16;
  REGISTER(console + CONTROL) = 1;
  REGISTER(0xE000E014) = 25000 - 1;  // SysTick: a millisecond of 25 MHz
  REGISTER(0xE000E018) = 0;
  REGISTER(0xE000E010) = 7;
  main(0, NULL);
  for (;;) __asm__ volatile("wfi");
}

__attribute__((section(".vectors"), used)) static const void *const vectors[16] = {
    &stack_top, reset, fault, fault, fault, fault, fault, 0, 0, 0, 0, fault, 0, 0, fault, system_tick};
