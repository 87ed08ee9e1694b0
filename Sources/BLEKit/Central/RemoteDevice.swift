import BLEATT
import BLEGATT
import BLEHCI
public import BLEHost
public import BLEWire

/// A device at the other end of a link. Either device made the link.
///
/// It stands for one link: a device that connects again is another `RemoteDevice`. When the link has ended, its methods
/// throw ``BLEError/Kind/disconnected``. Each link has both roles of GATT: a device that reads values here can also
/// serve its own.
public struct RemoteDevice: Sendable {
  let session: AdapterSession
  let peer: LinkID
  private let firstAddress: DeviceAddress

  /// Whether the device made the link, as its central.
  public let isCentral: Bool

  init(session: AdapterSession, peer: LinkID, address: DeviceAddress, isCentral: Bool) {
    (self.session, self.peer) = (session, peer)
    (firstAddress, self.isCentral) = (address, isCentral)
  }

  /// The address of the device: its identity address if a bond resolves a private one.
  public var address: DeviceAddress { link { $0.address } ?? firstAddress }

  /// The name that the device advertised, without padding (``DeviceText``): that of the ``ScanResult``, or of the
  /// search, to which ``Adapter/connect(to:timeout:timing:phys:)`` connected.
  ///
  /// Nil for a device that was connected to by its address, and for a central. Such a device has its name as a value
  /// (Vol 3, Part C, 12.1):
  ///
  /// ```swift
  /// let name = try await device.read("2A00", in: "1800", as: String.self)
  /// ```
  public var name: String? {
    session.run { [peer] state, _ in state.links.lend(peer) { $0.name } ?? state.endedLinks.name(of: peer) }
  }

  /// Whether the link is up.
  public var isConnected: Bool { link { _ in true } ?? false }

  /// The ATT_MTU in octets, 23 to 517 (Vol 3, Part F, 3.2.8); a notification takes 3 less.
  public var mtu: Int { link { $0.mtu } ?? ATT.defaultMTU }

  /// The LE security mode 1 level of the link and the length of its key (Vol 3, Part C, 10.2.1).
  public var security: PeerSecurity { PeerSecurity(link { $0.security } ?? SecurityState()) }

  /// The connection interval, the latency and the supervision timeout; nil when the link has ended. After
  /// ``requestConnectionRate(_:timeout:)`` of either device the interval is a multiple of 125 us.
  public var timing: ConnectionTiming? { link { $0.timing }.map { ConnectionTiming($0) } }

  /// The subrating of the link; nil when the link has ended. A priority, the device, ``requestSubrate(_:timeout:)``
  /// and ``requestConnectionRate(_:timeout:)`` change it, and another connection interval ends it.
  public var subrate: ConnectionSubrating? { link { $0.subrating } }

  /// The longest packets of the link layer. An adapter that the kernel runs does not report them: they are those of a
  /// new link.
  public var dataLength: ConnectionDataLength { link { $0.dataLength } ?? ConnectionDataLength() }

  /// The greatest length of a notification or of a write without response that fills packets of the link layer, in
  /// octets; at most ``mtu`` - 3, and at most 512.
  ///
  /// A value of another length is sent with a packet that is partly empty, and takes the time of a packet: on LE 2M
  /// with packets of 251 octets values of 495 octets arrive at 1,422 kbit/s, those of 512 at 1,263.
  ///
  /// ```swift
  /// let length = device.packetFillingLength
  /// var rest = firmware[...]
  /// while !rest.isEmpty {
  ///   try await device.writeWithoutResponse(Array(rest.prefix(length)), to: upload)
  ///   rest = rest.dropFirst(length)
  /// }
  /// ```
  public var packetFillingLength: Int {
    let longest = min(mtu - 3, ATT.maximumValueLength)
    let octets = dataLength.transmitOctets
    // The L2CAP header, the opcode and the handle.
    let overhead = 4 + 3
    let packets = (longest + overhead) / octets
    return packets > 0 ? packets * octets - overhead : longest
  }

  /// Waits until the link has ended.
  ///
  /// - Returns: the reason, of kind ``BLEError/Kind/disconnected``.
  /// - Throws: ``BLEError/Kind/cancelled``; the link stays.
  @discardableResult
  public func waitUntilDisconnected() async throws(BLEError) -> BLEError {
    do throws(BLEError) {
      return try await session.wait(for: .linkEnd(peer)) { [peer] state, _ throws(BLEError) in
        guard state.links[peer] != nil else { throw state.endedLinks.end(of: peer) }
        return nil
      }
    } catch let error where error.kind == .disconnected {
      return error
    }
  }

  /// Ends the link and waits for its end. It has no effect on a link that has ended.
  ///
  /// A link that this device made ends when no other user of the adapter in this process uses it. Subscriptions whose
  /// sequences have ended are withdrawn first, for at most half a second: a bonded device would keep them.
  public func disconnect() async {
    await withdrawSubscriptions()
    session.release(self)
    _ = try? await waitUntilDisconnected()
  }

  /// Waits until the device has answered the ends of subscriptions.
  private func withdrawSubscriptions() async {
    let withdrawals = session.run { [peer] state, _ in state.links[peer]?.withdrawals ?? [] }
    for id in withdrawals {
      let end = try? await session.wait(
        for: .operation(peer, id), timeout: .milliseconds(500), missing: "no answer"
      ) { [peer] state, _ throws(BLEError) -> GATTClient.Outcome? in
        state.links[peer]?.withdrawals.contains(id) == true ? nil : .done
      }
      guard end != nil else { return }
    }
  }

  /// Reads the strength of the signal.
  ///
  /// - Returns: in dBm, -127 to 20 (Vol 4, Part E, 7.5.4).
  public func readRSSI() async throws(BLEError) -> Int {
    let read = HostIDs.next32()
    return try await session.wait(for: .rssi(peer, read: read)) { [peer] state, actions throws(BLEError) in
      try state.requireLink(peer)
      state.rssiReads[peer, default: []].append(read)
      actions.commands.append(.link(peer, .readRSSI))
      return nil
    }
  }

  /// Reads the PHYs of the link.
  public func readPHY() async throws(BLEError) -> ConnectionPHY {
    try await phy(.readPHY)
  }

  /// Requests other PHYs for the link, as its central or as its peripheral. The controllers choose among those that
  /// both devices allow; an empty set means no preference (Vol 4, Part E, 7.8.49).
  ///
  /// ```swift
  /// let phy = try await device.setPreferredPHY(transmit: [.le2M], receive: [.le2M])
  /// print(phy.transmit)  // LE 2M, or LE 1M where the other device has no LE 2M
  /// ```
  ///
  /// - Parameters:
  ///   - transmit: the PHYs that this device may send on.
  ///   - receive: the PHYs that it may receive on.
  ///   - coding: the coding of packets that this device sends on LE Coded.
  /// - Returns: the PHYs that the link uses from now on.
  /// - Throws: ``BLEError/Kind/unsupported`` for a PHY that the controller does not have.
  @discardableResult
  public func setPreferredPHY(
    transmit: Set<LEPHY> = [], receive: Set<LEPHY> = [], coding: LECoding = .any
  ) async throws(BLEError) -> ConnectionPHY {
    let preference = PHYPreference(transmit: transmit, receive: receive, coding: coding)
    return try await phy(.setPHY(preference))
  }

  private func phy(_ command: HostCommand.Link) async throws(BLEError) -> ConnectionPHY {
    try await session.wait(for: .phy(peer)) { [peer] state, actions throws(BLEError) in
      try state.requireLink(peer)
      actions.commands.append(.link(peer, command))
      return nil
    }
  }

  /// Requests an encrypted link: with the keys of a bond, or by pairing (Vol 3, Part H, 2.4.6).
  ///
  /// When it returns, both devices have their keys, and a bond is stored: with ``PairingOptions/Storage/file(_:)`` it
  /// is in the file and flushed to the disk.
  ///
  /// ``AdapterOptions/pairing`` sets how this device pairs; ``Adapter/pairingRequests`` has the questions for the user.
  ///
  /// - Parameters:
  ///   - level: the level that the link has afterwards, or a higher one; a pairing that cannot reach it fails.
  ///   - asksConsent: whether ``Adapter/pairingRequests`` has a question before a pairing without authentication (Just
  ///     Works), although this call has requested it.
  ///   - timeout: the time for the pairing. Storing the bond has 10 s more.
  /// - Throws: ``BLEError/Kind/security`` if the pairing failed. ``BLEError/Kind/notStored`` if the devices have
  ///   paired, and the bond could not be stored: the link is secure, and the bond is lost when the program ends, unless
  ///   a later attempt succeeds.
  public func pair(
    level: PeerSecurity.Level = .encrypted, asksConsent: Bool = false, timeout: Duration = .seconds(60)
  ) async throws(BLEError) {
    guard let demand = PeerSecurity.demand(level, asksConsent: asksConsent) else { return }
    let isPlain = demand == SecurityDemand()
    try await session.wait(
      for: .pairing(peer, demand.level), timeout: timeout,
      missing: "no pairing with \(self)"
    ) { [peer] state, actions throws(BLEError) in
      try state.requireLink(peer)
      if state.links[peer]?.security.level ?? .none >= demand.level { return () }
      actions.commands.append(isPlain ? .link(peer, .requestSecurity) : .link(peer, .secure(demand)))
      return nil
    }
    try await session.storeBond(of: address)
  }

  /// Requests the data length, the PHY and the timing of a priority, as the central or as the peripheral of the link.
  /// Each setting is requested as far as both devices support it; a rejected setting is logged. ``timing`` and
  /// ``readPHY()`` have the result.
  ///
  /// ```swift
  /// try device.requestConnectionPriority(.throughput)
  /// for block in firmware { try await device.writeWithoutResponse(block, to: upload) }
  /// try device.requestConnectionPriority(.balanced)
  /// ```
  public func requestConnectionPriority(_ priority: ConnectionPriority) throws(BLEError) {
    try session.command(peer, .prioritize(priority))
  }

  private func link<Value: Sendable>(_ get: @Sendable (LinkState) -> Value) -> Value? {
    session.run { state, _ in state.links[peer].map(get) }
  }
}

extension RemoteDevice: Hashable, CustomStringConvertible {
  public static func == (a: Self, b: Self) -> Bool { a.session === b.session && a.peer == b.peer }
  public func hash(into hasher: inout Hasher) { hasher.combine(peer) }
  public var description: String { "\(address)" }
}

extension AdapterSession {
  /// Posts a command about a link.
  func command(_ peer: LinkID, _ command: HostCommand.Link) throws(BLEError) {
    let refusal: BLEError? = run { state, actions in
      guard !state.isClosed else { return .closed }
      guard state.links[peer] != nil else { return state.endedLinks.error(of: peer) }
      actions.commands.append(.link(peer, command))
      return nil
    }
    if let refusal { throw refusal }
  }

  /// Waits until the bond with a device is stored, if there is one.
  ///
  /// - Throws: ``BLEError/Kind/notStored``.
  fileprivate func storeBond(of device: DeviceAddress) async throws(BLEError) {
    guard let bonds = client.hub?.bonds else { return }
    let failure = "paired with \(device), and the bond is not stored"
    do throws(BLEError) {
      try await wait(for: .bondStorage(device), timeout: Self.storageTimeout) { _, _ throws(BLEError) in
        // Its queue needs the lock of the session to report, so the wait has begun then.
        bonds.confirm(device) { [weak self] error in
          let result: Result<Void, BLEError> =
            error.map { .failure(BLEError(.notStored, "\(failure): \($0)")) } ?? .success(())
          self?.run { state, actions in state.waits.answer(.bondStorage(device), result, into: &actions) }
        }
        return nil
      }
    } catch {
      guard error.kind == .timedOut else { throw error }
      throw BLEError(
        .notStored,
        "\(failure): no answer of the disk within \(Self.storageTimeout). Wait until it is stored, or name "
          + "a faster place with PairingOptions.storage or BLE_BONDS")
    }
  }

  /// How long a pairing waits for the storage of its bond: a disk that has to start, or that is busy, takes seconds.
  private static let storageTimeout = Duration.seconds(10)

  func release(_ device: RemoteDevice) {
    run { [peer = device.peer] state, actions in
      guard let link = state.links[peer], !state.isClosed else { return }
      actions.commands.append(
        link.isCentral ? .link(peer, .disconnect(.remoteUserTerminatedConnection)) : .link(peer, .release))
    }
  }
}
