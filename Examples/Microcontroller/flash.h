#include "Board/board.h"

/// Writes a page to the file that is the flash.
void flash_write(int32_t page, const uint8_t octets[BOARD_FLASH_PAGE_SIZE]);
