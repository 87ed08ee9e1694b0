import BLEPeripheral
import Board

/// The bonds in pages of flash.
///
/// A bond has a page: a number of four octets, which ascends with each page that is written, and the encoded bond. A
/// changed bond is written to a free page before its old page is erased, so that a loss of power never leaves it
/// without one. There is one page more than bonds.
struct BondStore {
  /// The number of bonds that have room.
  static let capacity = Int(BOARD_FLASH_PAGES) - 1
  private static let pageSize = Int(BOARD_FLASH_PAGE_SIZE)
  private static let header = 4

  /// A page with a bond: its number, and the device.
  private struct Page {
    var number: UInt32
    var identity: DeviceAddress
  }

  private var pages: [Page?]

  /// Reads the flash, and erases pages without a bond and with an older version of one.
  init() {
    pages = (0..<Int32(BOARD_FLASH_PAGES)).map { page in
      Self.read(page).map { Page(number: $0.number, identity: $0.bond.identity) }
    }
    for (index, page) in pages.enumerated() {
      guard let page else { continue }
      let isOld = pages.contains { $0?.identity == page.identity && ($0?.number ?? 0) > page.number }
      if isOld { erase(index) }
    }
  }

  /// The bonds, read from the flash.
  var bonds: [Bond] {
    pages.indices.compactMap { pages[$0] == nil ? nil : Self.read(Int32($0))?.bond }
  }
  /// The devices that have bonds.
  var devices: [DeviceAddress] { pages.compactMap { $0?.identity } }

  /// Stores a bond, and replaces the one of the same device.
  ///
  /// - Returns: false if no page is free.
  mutating func store(_ bond: Bond) -> Bool {
    let old = pages.firstIndex { $0?.identity == bond.identity }
    guard let free = pages.firstIndex(where: { $0 == nil }) else { return false }
    let number = (pages.compactMap { $0?.number }.max() ?? 0) &+ 1
    var octets = (0..<Self.header).map { UInt8(truncatingIfNeeded: number >> UInt32(8 * $0)) }
    octets += bond.encoded
    guard octets.count <= Self.pageSize else { return false }
    board_flash_erase(Int32(free))
    board_flash_program(Int32(free), octets, Int32(octets.count))
    pages[free] = Page(number: number, identity: bond.identity)
    if let old { erase(old) }
    return true
  }

  mutating func remove(_ identity: DeviceAddress) {
    for index in pages.indices where pages[index]?.identity == identity { erase(index) }
  }

  private mutating func erase(_ index: Int) {
    board_flash_erase(Int32(index))
    pages[index] = nil
  }

  private static func read(_ page: Int32) -> (number: UInt32, bond: Bond)? {
    var octets = [UInt8](repeating: 0, count: pageSize)
    board_flash_read(page, &octets)
    let number = octets[..<header].reversed().reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
    do throws(BondDecodingError) {
      return (number, try Bond(encoded: octets.span.extracting(header..<pageSize)))
    } catch { return nil }  // It is erased, or was not written completely.
  }
}
