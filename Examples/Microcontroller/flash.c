// The flash of QEMU's board and of the process of Linux: a file, whose pages are erased and programmed as those of a real one.
#include <string.h>

#include "flash.h"

void board_flash_erase(int32_t page) {
  uint8_t octets[BOARD_FLASH_PAGE_SIZE];
  memset(octets, 0xFF, sizeof octets);
  flash_write(page, octets);
}

void board_flash_program(int32_t page, const uint8_t *octets, int32_t size) {
  uint8_t whole[BOARD_FLASH_PAGE_SIZE];
  board_flash_read(page, whole);
  for (int32_t index = 0; index < size && index < BOARD_FLASH_PAGE_SIZE; index++) whole[index] &= octets[index];
  flash_write(page, whole);
}
