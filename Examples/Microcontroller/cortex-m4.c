// The board of QEMU's machine mps2-an386, a Cortex-M4: the controller is on UART 0, the console on UART 1, the clock is
// SysTick. The flash is the file flash.bin of the computer, and random numbers are those of the computer: both by
// semihosting, because the machine has neither.
#include "flash.h"

#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define REGISTER(address) (*(volatile uint32_t *)(address))

extern uint32_t data_source, data_start, data_end, bss_start, bss_end, stack_top, heap_start, heap_end;
int main(int, char **);

static void disable_interrupts(void) { __asm__ volatile("cpsid i" ::: "memory"); }
static void enable_interrupts(void) { __asm__ volatile("cpsie i" ::: "memory"); }

// The UARTs of the CMSDK hold one octet. The interrupt moves it into a ring.

enum { DATA = 0x00, STATE = 0x04, CONTROL = 0x08, INTERRUPTS = 0x0C, BAUD = 0x10 };
enum { TRANSMITTER_FULL = 1, RECEIVER_FULL = 2 };
enum { TRANSMITS = 1, RECEIVES = 2, RECEIVE_INTERRUPT = 8, RECEIVED = 2 };

struct uart {
  uint32_t base;
  volatile uint32_t head, tail;
  uint8_t ring[1024];
};
static struct uart controller, console;

static void uart_start(struct uart *uart, uint32_t base) {
  uart->base = base;
  REGISTER(uart->base + BAUD) = 16;
  REGISTER(uart->base + CONTROL) = TRANSMITS | RECEIVES | RECEIVE_INTERRUPT;
}

static bool uart_is_empty(const struct uart *uart) { return uart->head == uart->tail; }

static void uart_receive(struct uart *uart) {
  REGISTER(uart->base + INTERRUPTS) = RECEIVED;
  while (REGISTER(uart->base + STATE) & RECEIVER_FULL) {
    if (uart->tail - uart->head == sizeof uart->ring) {
      // The octet waits in the UART until the ring has room, and the sender waits with it: a board does that with RTS.
      REGISTER(uart->base + CONTROL) = TRANSMITS | RECEIVES;
      return;
    }
    uart->ring[uart->tail % sizeof uart->ring] = (uint8_t)REGISTER(uart->base + DATA);
    uart->tail++;
  }
}

static void controller_interrupt(void) { uart_receive(&controller); }
static void console_interrupt(void) { uart_receive(&console); }

static int32_t uart_read(struct uart *uart, uint8_t *octets, int32_t size) {
  int32_t count = 0;
  while (count < size && !uart_is_empty(uart)) octets[count++] = uart->ring[uart->head++ % sizeof uart->ring];
  if (count > 0 && !(REGISTER(uart->base + CONTROL) & RECEIVE_INTERRUPT)) {
    disable_interrupts();
    REGISTER(uart->base + CONTROL) = TRANSMITS | RECEIVES | RECEIVE_INTERRUPT;
    uart_receive(uart);
    enable_interrupts();
  }
  return count;
}

static void uart_write(const struct uart *uart, const uint8_t *octets, int32_t size) {
  while (size-- > 0) {
    while (REGISTER(uart->base + STATE) & TRANSMITTER_FULL) {}
    REGISTER(uart->base + DATA) = *octets++;
  }
}

int32_t board_read(uint8_t *octets, int32_t size) { return uart_read(&controller, octets, size); }
void board_write(const uint8_t *octets, int32_t size) { uart_write(&controller, octets, size); }
void board_log(const uint8_t *text, int32_t size) { uart_write(&console, text, size); }

int32_t board_key(void) {
  uint8_t key;
  return uart_read(&console, &key, 1) == 1 ? key : -1;
}

// Time.

static volatile uint64_t milliseconds_passed;

static void system_tick(void) { milliseconds_passed++; }

uint64_t board_microseconds(void) {
  disable_interrupts();
  uint64_t milliseconds = milliseconds_passed;
  enable_interrupts();
  return milliseconds * 1000;
}

// A timer of the CMSDK counts down at 25 MHz. With QEMU's -icount shift=0, which lets an instruction take a nanosecond, it counts the
// instructions of the program, by 40.

static uint32_t wait_end, busy;

static uint32_t timer(void) { return REGISTER(0x40000004); }

void board_wait(uint64_t deadline) {
  busy += wait_end - timer();
  for (;;) {
    disable_interrupts();
    bool is_due = milliseconds_passed * 1000 >= deadline || !uart_is_empty(&controller) || !uart_is_empty(&console);
    // An interrupt that is pending ends the wait, although its handler runs later: none is missed.
    if (!is_due) __asm__ volatile("wfi");
    enable_interrupts();
    if (is_due) break;
  }
  wait_end = timer();
}

// Semihosting (Arm, Semihosting for AArch32 and AArch64, 2.0): files of the computer that QEMU runs on.

enum { SYS_OPEN = 1, SYS_WRITE = 5, SYS_READ = 6, SYS_SEEK = 10 };
enum { READ_BINARY = 1, READ_AND_WRITE_BINARY = 3, CREATE_BINARY = 7 };

static int32_t semihosting(uint32_t operation, const void *arguments) {
  register uint32_t r0 __asm__("r0") = operation;
  register const void *r1 __asm__("r1") = arguments;
  __asm__ volatile("bkpt 0xAB" : "+r"(r0) : "r"(r1) : "memory");
  return (int32_t)r0;
}

static int32_t file_open(const char *path, uint32_t mode) {
  const uint32_t arguments[] = {(uint32_t)path, mode, strlen(path)};
  return semihosting(SYS_OPEN, arguments);
}

/// Returns how many octets are missing.
static int32_t file_transfer(uint32_t operation, int32_t file, const void *octets, uint32_t size) {
  const uint32_t arguments[] = {(uint32_t)file, (uint32_t)octets, size};
  return semihosting(operation, arguments);
}

static int32_t flash_at(int32_t page) {
  static int32_t file = -1;
  if (file < 0) file = file_open("flash.bin", READ_AND_WRITE_BINARY);
  if (file < 0) file = file_open("flash.bin", CREATE_BINARY);
  const uint32_t arguments[] = {(uint32_t)file, (uint32_t)page * BOARD_FLASH_PAGE_SIZE};
  semihosting(SYS_SEEK, arguments);
  return file;
}

void board_flash_read(int32_t page, uint8_t octets[BOARD_FLASH_PAGE_SIZE]) {
  memset(octets, 0xFF, BOARD_FLASH_PAGE_SIZE);
  // A new file is shorter than the flash, which is erased there.
  file_transfer(SYS_READ, flash_at(page), octets, BOARD_FLASH_PAGE_SIZE);
}

void flash_write(int32_t page, const uint8_t octets[BOARD_FLASH_PAGE_SIZE]) {
  static const char failure[] = "the flash cannot be written\n";
  if (file_transfer(SYS_WRITE, flash_at(page), octets, BOARD_FLASH_PAGE_SIZE)) {
    board_log((const uint8_t *)failure, sizeof failure - 1);
  }
}

static void write_number(uint32_t number, uint32_t base) {
  char digits[11];
  int place = sizeof digits;
  do digits[--place] = "0123456789abcdef"[number % base];
  while ((number /= base) > 0);
  board_log((const uint8_t *)digits + place, (int32_t)sizeof digits - place);
}

static void write_text(const char *text) { board_log((const uint8_t *)text, (int32_t)strlen(text)); }

// Memory.

static const uint32_t stack_mark = 0xA5A5A5A5;
static uint32_t allocations, live_allocations;

void board_log_memory(void) {
  const uint32_t *word = &heap_end;
  while (*word == stack_mark) word++;
  write_text("memory: heap ");
  write_number((uint32_t)mallinfo().uordblks, 10);
  write_text(", allocations ");
  write_number(allocations, 10);
  write_text(", live ");
  write_number(live_allocations, 10);
  write_text(", stack ");
  write_number((uint32_t)((const char *)&stack_top - (const char *)word), 10);
  write_text(", ticks ");
  write_number(busy, 10);
  write_text("\n");
}

// The functions that newlib and Swift's runtime need.

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
  allocations++;
  live_allocations++;
  *memory = memalign(alignment, size);
  return *memory ? 0 : ENOMEM;
}

void *__real_malloc(size_t size);

void *__wrap_malloc(size_t size) {
  allocations++;
  live_allocations++;
  return __real_malloc(size);
}

void __real_free(void *memory);

void __wrap_free(void *memory) {
  if (memory) live_allocations--;
  __real_free(memory);
}

// newlib for small programs copies octet by octet. This processor loads words from any address.
__attribute__((optimize("O2", "no-tree-loop-distribute-patterns"))) void *memcpy(void *restrict to, const void *restrict from, size_t count) {
  uint8_t *destination = to;
  const uint8_t *source = from;
  for (; count >= sizeof(uint32_t); count -= sizeof(uint32_t)) {
    uint32_t word;
    __builtin_memcpy(&word, source, sizeof word);
    __builtin_memcpy(destination, &word, sizeof word);
    source += sizeof word;
    destination += sizeof word;
  }
  while (count-- > 0) *destination++ = *source++;
  return to;
}

void arc4random_buf(void *octets, size_t size) {
  static int32_t file = -1;
  if (file < 0) file = file_open("/dev/urandom", READ_BINARY);
  if (file >= 0 && file_transfer(SYS_READ, file, octets, size) == 0) return;
  write_text("no random numbers: start QEMU with -semihosting-config enable=on,target=native\n");
  for (;;) {}
}

__attribute__((used)) static void report_fault(const uint32_t *frame) {
  write_text("fault at ");
  write_number(frame[6], 16);
  write_text("\n");
  for (;;) {}
}

__attribute__((naked)) static void fault(void) { __asm__("mov r0, sp\n b report_fault"); }

void reset(void) {
  REGISTER(0xE000ED88) |= 0xF << 20;  // CPACR: the floating-point unit
  memcpy(&data_start, &data_source, (size_t)((char *)&data_end - (char *)&data_start));
  memset(&bss_start, 0, (size_t)((char *)&bss_end - (char *)&bss_start));
  for (uint32_t *word = &heap_end; word < (uint32_t *)__builtin_frame_address(0) - 64; word++) *word = stack_mark;
  uart_start(&controller, 0x40004000);
  uart_start(&console, 0x40005000);
  REGISTER(0xE000E100) = 1 << 0 | 1 << 2;  // NVIC: the receivers of UART 0 and UART 1
  REGISTER(0xE000E014) = 25000 - 1;  // SysTick: a millisecond of 25 MHz
  REGISTER(0xE000E018) = 0;
  REGISTER(0xE000E010) = 7;
  REGISTER(0x40000008) = 0xFFFFFFFF;
  REGISTER(0x40000000) = 1;
  wait_end = timer();
  main(0, NULL);
  for (;;) __asm__ volatile("wfi");
}

__attribute__((section(".vectors"), used)) static const void *const vectors[19] = {
    &stack_top, reset, fault, fault, fault, fault, fault, 0, 0, 0, 0, fault, 0, 0, fault, system_tick,
    controller_interrupt, fault, console_interrupt};
