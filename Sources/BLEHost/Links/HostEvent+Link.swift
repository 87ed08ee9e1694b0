package import BLEGATT
package import BLEHCI
package import BLEWire

extension HostEvent {
  /// An event of one link. ``Link`` and ``LinkTable`` report it.
  package enum Link: Sendable {
    /// The link has proven the bond of this identity. It was reported by a drawn address, because another link was
    /// reported by the identity when this one came up.
    case identified(DeviceAddress)
    case disconnected(HCIErrorCode)
    case mtu(Int)
    case connectionUpdated(LinkTiming)
    indirect case connectionUpdateRefused(HostError)
    /// The longest packets of the link layer have changed.
    indirect case dataLength(ConnectionDataLength)
    /// The PHYs of a link: changes go to all owners, the answer to ``HostCommand/Link/readPHY`` and a failure to the
    /// owner of the request.
    indirect case phy(Result<ConnectionPHY, HostError>)
    /// The subrating of a link, with its latency and its supervision timeout: changes go to all owners, a failure to
    /// the owner of the request.
    indirect case subrating(Result<LinkSubrating, HostError>)
    /// The connection rate of a link, after LE Connection Rate Change: changes go to all owners, a failure to the owner
    /// of the request.
    indirect case connectionRate(Result<LinkRate, HostError>)
    indirect case rssi(Result<Int8, HostError>)
    /// Transmit powers and the path loss, for the owners that use them.
    indirect case power(LinkPowerEvent)
    /// The security level of the link, from the controller's encryption events and the key in use.
    indirect case security(SecurityState)
  }
}
