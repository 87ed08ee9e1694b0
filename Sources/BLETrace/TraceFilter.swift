package import BLEHCI
package import BLEWire
package import ToolCore

/// The entries of a trace that the options of `ble log` select.
package struct TraceFilter: Equatable {
  /// Whether routine entries are also shown.
  package var showsAll = false
  /// The layers to show; empty for all.
  package var layers: Set<TraceEntry.Layer> = []
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
      guard digits.allSatisfy({ $0.isHexDigit }), let number = UInt16(digits, radix: isHexadecimal ? 16 : 10),
        number < 0x1000
      else { return nil }
      self = .handle(ConnectionHandle(rawValue: number))
    }

    /// What a link is, for the error about text that is none.
    package static func rule(_ text: String) -> String {
      "a handle such as 0x0040 or an address such as C0:11:22:33:44:55 or C0:11:22:33:44:55-random, not '\(text)'"
    }
  }

  package init() {}

  package func admits(_ entry: TraceEntry) -> Bool {
    admits(entry.layer, isRoutine: entry.isRoutine, isFailure: entry.isFailure) && isOfLink(entry)
  }

  /// Whether the options select the packets of this kind, without those about links.
  func admits(_ layer: TraceEntry.Layer, isRoutine: Bool, isFailure: Bool) -> Bool {
    (!isRoutine || isFailure || showsAll) && (layers.isEmpty || layers.contains(layer))
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
