internal import BLEHCI
internal import BLEL2CAP
internal import BLEWire
internal import Glibc

/// The name of the socket of one credit-based channel. A number is not reused while the adapter is open.
struct ChannelSocketID: Hashable, Sendable {
  /// The link of the channel.
  let handle: ConnectionHandle
  let number: UInt32
}

/// A channel that the host opens: the parameters of its socket.
struct ChannelConnection: Equatable, Sendable {
  let spsm: SPSM
  let mode: CreditBasedChannel.Mode
  /// The largest SDU that the host accepts, in octets.
  let mtu: UInt16
  /// The peer's address in the event of the link. If the link has an ATT socket, the address of that socket is used
  /// instead: it is the one that the kernel uses now, and after a pairing it is the identity.
  let peer: DeviceAddress
}

/// A channel that a peer has opened. The kernel has accepted it.
struct AcceptedChannel: Equatable, Sendable {
  let spsm: SPSM
  let mode: CreditBasedChannel.Mode
  /// The largest SDU that the peer accepts, in octets.
  let remoteMTU: UInt16
}

/// An action on the sockets of channels.
enum ChannelAction: Equatable, Sendable {
  /// Make a socket and connect it to the peer of the link. Result: ``ChannelEvent/connected(remoteMTU:)`` or
  /// ``ChannelEvent/refused(_:)``, later.
  case connect(ChannelSocketID, ChannelConnection)
  /// Send the next message of the octets. Result: ``ChannelEvent/sent``, ``ChannelEvent/full`` or
  /// ``ChannelEvent/failed``.
  case send(ChannelSocketID)
  /// Read SDUs as they arrive, while ``KernelTranslator/reads(_:)`` is true.
  case read(ChannelSocketID)
  /// Read the SDUs of a link that has ended, while ``KernelTranslator/reads(_:)`` is true.
  case drain(ChannelSocketID)
  /// Determine whether the kernel has sent everything. Result: ``ChannelEvent/queue(isEmpty:)``.
  case readQueue(ChannelSocketID)
  case close(ChannelSocketID)
  /// Listen for channels to a service; an earlier listener is closed. Result of a failure:
  /// ``SocketEvent/listeningFailed(_:_:)``.
  case listen(SPSM, SocketSecurity.Level, mtu: UInt16)
  case stopListening(SPSM)
}

/// An event of the socket of a channel.
enum ChannelEvent: Equatable, Sendable {
  /// A listener has accepted the channel.
  case accepted(AcceptedChannel)
  case connected(remoteMTU: UInt16)
  /// The channel was not connected; the error number is the reason.
  case refused(Int32)
  case sent
  /// The socket did not take an SDU. It can be sent later: ``writable`` follows.
  case full
  case writable
  /// The socket accepts no more SDUs.
  case failed
  /// The channel has ended, and all its SDUs have been read.
  case ended
  case queue(isEmpty: Bool)
}

extension CreditBasedConnectionResult {
  /// The result for an error of the kernel. The kernel has one error for all refusals of a peer, which usually means
  /// that the peer has no such service.
  init(connecting number: Int32) {
    self =
      switch number {
      case ECONNREFUSED: .spsmNotSupported
      case EACCES, EPERM, ENOKEY, EKEYREJECTED: .insufficientAuthentication
      case EINVAL, EBADF, EPROTO, EMSGSIZE, ENOPROTOOPT, EOPNOTSUPP: .unacceptableParameters
      default: .noResources
      }
  }
}
