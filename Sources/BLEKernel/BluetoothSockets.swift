internal import BLEHCI
internal import BLEL2CAP
internal import BLELinux
internal import BLEWire
internal import CBluetoothLinux
internal import Glibc

/// The system calls of the kernel's Bluetooth sockets. Each socket is bound and non-blocking.
///
/// An HCI socket belongs to one channel. *Raw* receives the packets that a controller and the kernel exchange, *user*
/// takes the controller from the kernel, and *control* is the management protocol. An L2CAP socket bound to the fixed
/// channel 4 transfers one ATT PDU in each read or write.
enum BluetoothSockets {
  enum HCIChannel { case raw(UInt16), user(UInt16), control }

  static func hci(_ channel: HCIChannel, through system: SystemCalls) throws(SystemError) -> FileDescriptor {
    let type = Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let made = FileDescriptor(adopting: try system(.socket) { socket(AF_BLUETOOTH, type, Int32(BTPROTO_HCI)) })
    var address = sockaddr_hci()
    address.hci_family = sa_family_t(AF_BLUETOOTH)
    switch channel {
    case .raw(let index): (address.hci_dev, address.hci_channel) = (index, UInt16(HCI_CHANNEL_RAW))
    case .user(let index): (address.hci_dev, address.hci_channel) = (index, UInt16(HCI_CHANNEL_USER))
    case .control: (address.hci_dev, address.hci_channel) = (UInt16(HCI_DEV_NONE), UInt16(HCI_CHANNEL_CONTROL))
    }
    try bind(made, &address, through: system)
    return made
  }

  /// Limits a raw socket to some events. The kernel then does not queue the others for this process.
  static func setFilter(
    on raw: borrowing FileDescriptor, events: [HCIEventCode], through system: SystemCalls
  ) throws(SystemError) {
    var filter = hci_filter()
    filter.type_mask = 1 << 4
    for code in events.map(\.rawValue) where code < 64 {
      if code < 32 { filter.event_mask.0 |= 1 << UInt32(code) } else { filter.event_mask.1 |= 1 << UInt32(code - 32) }
    }
    let number = raw.rawValue
    try system(.socketOption) {
      unsafe setsockopt(number, Int32(SOL_HCI), Int32(HCI_FILTER), &filter, socklen_t(MemoryLayout<hci_filter>.size))
    }
  }

  /// A socket for one link, bound to the ATT channel on the adapter with the identity `address`.
  static func attributeProtocol(
    at address: DeviceAddress, through system: SystemCalls
  ) throws(SystemError) -> FileDescriptor {
    try l2cap(l2capAddress(address, channel: .attributeProtocol), through: system)
  }

  /// A socket bound to an L2CAP address.
  static func l2cap(_ address: sockaddr_l2, through system: SystemCalls) throws(SystemError) -> FileDescriptor {
    let type = Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let made = FileDescriptor(adopting: try system(.socket) { socket(AF_BLUETOOTH, type, Int32(BTPROTO_L2CAP)) })
    var own = address
    try bind(made, &own, through: system)
    return made
  }

  static func listen(_ socket: borrowing FileDescriptor, through system: SystemCalls) throws(SystemError) {
    let number = socket.rawValue
    try system(.listen) { Glibc.listen(number, 16) }
  }

  /// Accepts a link that waits at the listener.
  ///
  /// - Returns: its socket and its peer; nil if no link waits.
  static func accept(
    _ listener: borrowing FileDescriptor, through system: SystemCalls
  ) throws(SystemError) -> (socket: MessageSocket, peer: DeviceAddress)? {
    var address = sockaddr_l2()
    let listening = listener.rawValue
    do throws(SystemError) {
      let number = try system(.accept) {
        unsafe withUnsafeMutablePointer(to: &address) { pointer in
          var length = socklen_t(MemoryLayout<sockaddr_l2>.size)
          return unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            unsafe accept4(listening, $0, &length, Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue))
          }
        }
      }
      return (MessageSocket(FileDescriptor(adopting: number)), peer(address))
    } catch {
      guard error.number == EAGAIN || error.number == ECONNABORTED else { throw error }
      return nil
    }
  }

  /// Starts to connect the ATT channel of a link.
  static func connect(
    _ socket: borrowing FileDescriptor, to peer: DeviceAddress, through system: SystemCalls
  ) throws(SystemError) {
    try connect(socket, to: l2capAddress(peer, channel: .attributeProtocol), through: system)
  }

  /// Starts to connect a socket to an L2CAP address.
  static func connect(
    _ socket: borrowing FileDescriptor, to address: sockaddr_l2, through system: SystemCalls
  ) throws(SystemError) {
    var address = address
    let number = socket.rawValue
    do throws(SystemError) {
      try system(.connect) {
        unsafe withUnsafePointer(to: &address) { pointer in
          unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            unsafe Glibc.connect(number, $0, socklen_t(MemoryLayout<sockaddr_l2>.size))
          }
        }
      }
    } catch {
      guard error.number == EINPROGRESS else { throw error }
    }
  }

  /// A link of an adapter, made by any program.
  struct Link: Equatable {
    let handle: ConnectionHandle
    let peer: BD_ADDR
    let role: HCI.Role
  }

  /// The largest number of links that ``links(of:through:_:)`` returns.
  static let linkLimit = 64

  /// The Low Energy links of an adapter, those of all programs.
  static func links(
    of adapter: UInt16, through system: SystemCalls, _ raw: borrowing FileDescriptor
  ) throws(SystemError) -> [Link] {
    var links = [hci_conn_info](repeating: hci_conn_info(), count: linkLimit)
    let number = raw.rawValue
    let count = try system(.connectionList) {
      unsafe links.withUnsafeMutableBufferPointer {
        unsafe ble_connection_list(number, adapter, $0.baseAddress, Int32(clamping: $0.count))
      }
    }
    return Self.links(in: links, count: Int(count))
  }

  /// The Low Energy links among the first `count` entries of a list. A count larger than the list is allowed.
  static func links(in list: [hci_conn_info], count: Int) -> [Link] {
    list.prefix(max(0, count)).filter { $0.type == lowEnergyLink && $0.state == connectedState }.map { link in
      Link(
        handle: ConnectionHandle(rawValue: link.handle), peer: BD_ADDR(octets(of: link.bdaddr)),
        role: link.link_mode & UInt32(HCI_LM_MASTER) != 0 ? .central : .peripheral)
    }
  }

  /// The kernel's LE_LINK and BT_CONNECTED.
  private static let lowEnergyLink: UInt8 = 0x80
  private static let connectedState: UInt16 = 1

  /// The connection handle of the link of an ATT socket; `ENOTCONN` once the link has ended.
  static func connectionHandle(
    of socket: borrowing FileDescriptor, through system: SystemCalls
  ) throws(SystemError) -> ConnectionHandle {
    var information = l2cap_conninfo()
    let number = socket.rawValue
    try system(.socketQuery) {
      var length = socklen_t(MemoryLayout<l2cap_conninfo>.size)
      return unsafe getsockopt(number, Int32(SOL_L2CAP), Int32(L2CAP_CONNINFO), &information, &length)
    }
    return ConnectionHandle(rawValue: information.hci_handle)
  }

  /// The security of a link.
  static func security(
    of socket: borrowing FileDescriptor, through system: SystemCalls
  ) throws(SystemError) -> SocketSecurity {
    var security = bt_security()
    let number = socket.rawValue
    try system(.socketQuery) {
      var length = socklen_t(MemoryLayout<bt_security>.size)
      return unsafe getsockopt(number, Int32(SOL_BLUETOOTH), Int32(BT_SECURITY), &security, &length)
    }
    return SocketSecurity(level: .init(kernel: security.level), keySize: security.key_size)
  }

  /// Requests that the kernel raise the security level of a link.
  ///
  /// - Returns: false if the level does not change: it is already that high, or the kernel cannot raise it.
  static func raiseSecurity(
    of socket: borrowing FileDescriptor, to level: SocketSecurity.Level, through system: SystemCalls
  ) -> Bool {
    do throws(SystemError) {
      try setSecurity(of: socket, to: level, through: system)
      return true
    } catch { return false }
  }

  /// Sets the security level that a socket requires of its link.
  static func setSecurity(
    of socket: borrowing FileDescriptor, to level: SocketSecurity.Level, through system: SystemCalls
  ) throws(SystemError) {
    var security = bt_security()
    security.level = level.rawValue
    let number = socket.rawValue
    try system(.socketOption) {
      unsafe setsockopt(
        number, Int32(SOL_BLUETOOTH), Int32(BT_SECURITY), &security, socklen_t(MemoryLayout<bt_security>.size))
    }
  }

  /// Sets the size of a socket's buffer in octets, within the limit of the system.
  static func setBuffer(_ option: Int32, _ octets: Int32, of socket: borrowing FileDescriptor) {
    try? socket.setOption(level: SOL_SOCKET, option, octets, through: .kernel)
  }

  private static func bind<Address>(
    _ socket: borrowing FileDescriptor, _ address: inout Address, through system: SystemCalls
  ) throws(SystemError) {
    let number = socket.rawValue
    try system(.bind) {
      unsafe withUnsafePointer(to: &address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          unsafe Glibc.bind(number, $0, socklen_t(MemoryLayout<Address>.size))
        }
      }
    }
  }

  /// An L2CAP address: that of a fixed channel, or of a service.
  static func l2capAddress(_ device: DeviceAddress, channel: ChannelID = .null, service: UInt16 = 0) -> sockaddr_l2 {
    var address = sockaddr_l2()
    address.l2_family = sa_family_t(AF_BLUETOOTH)
    (address.l2_cid, address.l2_psm) = (channel.rawValue.littleEndian, service.littleEndian)
    address.l2_bdaddr_type = device.kind == .random ? 2 : 1
    let octets = device.octets.littleEndian
    address.l2_bdaddr.b = (octets[0], octets[1], octets[2], octets[3], octets[4], octets[5])
    return address
  }

  static func peer(_ address: sockaddr_l2) -> DeviceAddress {
    DeviceAddress(octets: BD_ADDR(octets(of: address.l2_bdaddr)), kind: address.l2_bdaddr_type == 2 ? .random : .public)
  }

  private static func octets(of address: bdaddr_t) -> UInt64 {
    let b = address.b
    return [b.0, b.1, b.2, b.3, b.4, b.5].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
  }
}
