internal import BLEHCI
internal import BLEL2CAP
internal import BLELinux
internal import BLEWire
internal import CBluetoothLinux
internal import Glibc

/// The system calls of credit-based channels.
extension BluetoothSockets {
  /// Sets the largest SDU that is accepted, and the mode if it is not the default.
  static func setChannel(
    of socket: borrowing FileDescriptor, mtu: UInt16, mode: CreditBasedChannel.Mode = .leCreditBased,
    through system: SystemCalls
  ) throws(SystemError) {
    let number = socket.rawValue
    if mode == .enhancedCreditBased {
      var kind = UInt8(BT_MODE_EXT_FLOWCTL)
      try system(.socketOption) { unsafe setsockopt(number, Int32(SOL_BLUETOOTH), Int32(BT_MODE), &kind, 1) }
    }
    var mtu = mtu
    try system(.socketOption) { unsafe setsockopt(number, Int32(SOL_BLUETOOTH), Int32(BT_RCVMTU), &mtu, 2) }
  }

  /// The mode of an accepted channel: a listener accepts both modes.
  static func mode(of socket: borrowing FileDescriptor) -> CreditBasedChannel.Mode {
    var (kind, length) = (UInt8(0), socklen_t(1))
    guard unsafe getsockopt(socket.rawValue, Int32(SOL_BLUETOOTH), Int32(BT_MODE), &kind, &length) == 0 else {
      return .leCreditBased
    }
    return kind == UInt8(BT_MODE_EXT_FLOWCTL) ? .enhancedCreditBased : .leCreditBased
  }

  /// The largest SDU that the peer of an open channel accepts, in octets.
  static func remoteMTU(of socket: borrowing FileDescriptor, through system: SystemCalls) throws(SystemError) -> UInt16
  {
    let number = socket.rawValue
    var mtu: UInt16 = 0
    try system(.socketQuery) {
      var length = socklen_t(2)
      return unsafe getsockopt(number, Int32(SOL_BLUETOOTH), Int32(BT_SNDMTU), &mtu, &length)
    }
    return mtu
  }

  /// The peer of a connected socket.
  static func peer(of socket: borrowing FileDescriptor) -> DeviceAddress? {
    var address = sockaddr_l2()
    let number = socket.rawValue
    let result = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      var length = socklen_t(MemoryLayout<sockaddr_l2>.size)
      return unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe getpeername(number, $0, &length)
      }
    }
    return result == 0 ? peer(address) : nil
  }

  /// The kernel's count for the output queue, in octets; nil if it has none.
  static func outputQueue(of socket: borrowing FileDescriptor) -> Int32? {
    var octets: Int32 = 0
    return unsafe ble_output_queue(socket.rawValue, &octets) == 0 ? octets : nil
  }

  /// The memory of received messages; nil if the kernel does not report it.
  static func memory(of socket: borrowing FileDescriptor) -> ReadingOrder.Memory? {
    // The kernel's indices of the fields: SK_MEMINFO_RMEM_ALLOC 0, SK_MEMINFO_RCVBUF 1, SK_MEMINFO_DROPS 8.
    var fields: (UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32, UInt32) = (0, 0, 0, 0, 0, 0, 0, 0, 0)
    let size = socklen_t(MemoryLayout.size(ofValue: fields))
    var length = size
    guard unsafe getsockopt(socket.rawValue, SOL_SOCKET, SO_MEMINFO, &fields, &length) == 0, length >= size else {
      return nil
    }
    return ReadingOrder.Memory(queued: fields.0, buffer: fields.1, rejections: fields.8)
  }

  /// Sets the size of the receive buffer in octets, within the limit of the system.
  static func setReceiveBuffer(_ octets: UInt32, of socket: borrowing FileDescriptor) {
    // The kernel doubles the value of the option, and raises one that is too small.
    let half = Int32(clamping: octets / 2)
    do throws(SystemError) {
      try socket.setOption(level: SOL_SOCKET, SO_RCVBUFFORCE, half, through: .kernel)
    } catch {
      setBuffer(SO_RCVBUF, half, of: socket)
    }
  }

  /// Makes the kernel move SDUs from its second queue to the socket's queue, without reading one.
  static func moveQueue(of socket: borrowing FileDescriptor) {
    var octet: UInt8 = 0
    _ = unsafe recv(socket.rawValue, &octet, 1, Int32(MSG_PEEK | MSG_DONTWAIT))
  }

  /// Whether the channel of a socket has ended.
  static func hasEnded(_ socket: borrowing FileDescriptor) -> Bool {
    var state = pollfd(fd: socket.rawValue, events: 0, revents: 0)
    guard unsafe poll(&state, 1, 0) > 0 else { return false }
    return state.revents & Int16(POLLHUP | POLLERR) != 0
  }
}
