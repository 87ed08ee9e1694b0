package import BLEHCI
package import BLEWire
package import ToolCore

/// The entries of a trace that the options of `ble log` select.
package struct TraceFilter {
  /// Whether routine entries are also shown.
  package var showsAll = false
  /// The layers to show; empty for all.
  package var layers: Set<String> = []
  package var link: Link?

  /// One link, or all links with one device.
  package enum Link: Equatable {
    case handle(ConnectionHandle)
    case device(AddressWord)

    /// Reads `0x0040`, `64`, or an address with its kind or without.
    package init?(_ text: String) {
      if let address = AddressWord(text) {
        self = .device(address)
        return
      }
      let isHexadecimal = text.lowercased().hasPrefix("0x")
      let digits = isHexadecimal ? text.dropFirst(2) : text[...]
      // A Connection_Handle has 12 bits (Vol 4, Part E, 5.4.2).
      guard digits.allSatisfy(\.isHexDigit), let number = UInt16(digits, radix: isHexadecimal ? 16 : 10),
        number < 0x1000
      else { return nil }
      self = .handle(ConnectionHandle(rawValue: number))
    }
  }

  package init() {}

  package func admits(_ entry: TraceEntry) -> Bool {
    if entry.isRoutine, !entry.isFailure, !showsAll { return false }
    if !layers.isEmpty, !layers.contains(entry.layer.rawValue.lowercased()) { return false }
    return isOfLink(entry)
  }

  /// Whether the entry belongs to the link, where the options name one.
  package func isOfLink(_ entry: TraceEntry) -> Bool { isLink(entry.link, with: entry.peer) }

  package func isLink(_ handle: ConnectionHandle?, with device: DeviceAddress?) -> Bool {
    switch link {
    case .handle(let wanted)?: handle == wanted
    case .device(let address)?: device.map(address.names) ?? false
    case nil: true
    }
  }
}
