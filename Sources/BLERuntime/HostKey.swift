internal import BLEKernel
internal import BLELinux
internal import BLEWire

/// What a host is kept under. An adapter of this machine has several names and must not get several hosts.
enum HostKey: Hashable, Sendable {
  case transport(TransportSpec)
  case adapter(BD_ADDR)
  /// An adapter without a public address.
  case adapterWithoutAddress(index: UInt16)

  /// Looks the adapter up that `transport` means now; nil where the kernel has none such, or that is no matter.
  static func found(_ transport: TransportSpec) -> Self? {
    let mode: KernelPort.Mode
    switch transport {
    case .linux(.address(let address)): return .adapter(address)
    case .linux(let choice): mode = .shared(choice)
    case .hciSocket(let index): mode = .userChannel(index: index)
    case .stream, .virtual: return nil
    }
    return KernelPort.identify(mode).map { index, address in
      address.map(Self.adapter) ?? .adapterWithoutAddress(index: index)
    }
  }
}

extension TransportSpec {
  /// Whether a host opened as the one can serve who asks for the other, once both mean the same adapter.
  func goesWith(_ other: Self) -> Bool {
    switch (self, other) {
    case (.linux, .linux): true
    default: self == other
    }
  }

  /// The other way to the same adapter, where a name tells that without the kernel.
  var otherWay: Self? {
    switch self {
    case .linux(.index(let index)): .hciSocket(index: index)
    case .hciSocket(let index): .linux(.index(index))
    default: nil
    }
  }
}
