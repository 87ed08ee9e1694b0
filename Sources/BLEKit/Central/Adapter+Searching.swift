public import BLEWire

/// Searches for one device.
extension Adapter {
  /// Scans until a device advertises this name, complete or shortened, in the same case.
  ///
  /// ```swift
  /// let lamp = try await adapter.findDevice(named: "Lamp")
  /// print(lamp.address, lamp.rssi ?? 0)
  /// ```
  ///
  /// Each advertisement of a device is examined: a name that comes later, with a scan response or when a button is
  /// pressed, is found then. ``Adapter/withConnection(to:timeout:_:)`` with a ``DeviceSelector`` searches and connects.
  ///
  /// - Parameters:
  ///   - name: the name without padding (``DeviceText``).
  ///   - timeout: how long to search; nil searches without a limit.
  /// - Throws: ``BLEError/Kind/notFound`` after the timeout.
  public func findDevice(named name: String, timeout: Duration? = .seconds(30)) async throws(BLEError) -> ScanResult {
    try await search(.named(name), within: timeout)
  }

  /// Scans until a device advertises this service, in its lists or in the overflow area (``OverflowArea``).
  ///
  /// - Parameters:
  ///   - service: the type of the service.
  ///   - timeout: how long to search; nil searches without a limit.
  /// - Throws: ``BLEError/Kind/notFound`` after the timeout.
  public func findDevice(
    advertising service: BluetoothUUID, timeout: Duration? = .seconds(30)
  ) async throws(BLEError) -> ScanResult {
    try await search(.advertising(service), within: timeout)
  }

  /// Scans until a device with this address, or with this identity address, advertises.
  ///
  /// - Parameters:
  ///   - address: the address with its kind.
  ///   - timeout: how long to search; nil searches without a limit.
  /// - Throws: ``BLEError/Kind/notFound`` after the timeout.
  public func findDevice(
    at address: DeviceAddress, timeout: Duration? = .seconds(30)
  ) async throws(BLEError) -> ScanResult {
    try await search(.at(address), within: timeout)
  }

  /// Scans until a device with this address advertises, public or random.
  ///
  /// - Parameters:
  ///   - address: six octets in hexadecimal, most significant first, as in `C0:11:22:33:44:55`.
  ///   - timeout: how long to search; nil searches without a limit.
  /// - Throws: ``BLEError/Kind/notFound`` after the timeout, ``BLEError/Kind/invalidArgument`` for any other text.
  public func findDevice(at address: String, timeout: Duration? = .seconds(30)) async throws(BLEError) -> ScanResult {
    try await search(.at(address), within: timeout)
  }

  /// Scans until a device meets a condition.
  ///
  /// ```swift
  /// // A device that changes its manufacturer data when its button is pressed.
  /// let pressed = try await adapter.findDevice { result in
  ///   result.contents.manufacturerData.contains { $0.data.last == 1 }
  /// }
  /// ```
  ///
  /// - Parameters:
  ///   - timeout: how long to search; nil searches without a limit.
  ///   - condition: called with each advertisement, with what the device has advertised until then.
  /// - Throws: ``BLEError/Kind/notFound`` after the timeout.
  public func findDevice(
    timeout: Duration? = .seconds(30), where condition: @escaping @Sendable (ScanResult) -> Bool
  ) async throws(BLEError) -> ScanResult {
    try await search(.matching(condition), within: timeout)
  }

  /// Scans until a device is found.
  ///
  /// - Parameters:
  ///   - isToConnect: whether the device has to accept connections.
  ///   - timeout: how long to search; nil searches without a limit.
  ///   - remaining: what is left of the timeout; nil for all of it.
  func search(
    _ selector: DeviceSelector, isToConnect: Bool = false, within timeout: Duration?, remaining: Duration? = nil
  ) async throws(BLEError) -> ScanResult {
    if let fault = selector.fault { throw fault }
    let reader = session.startScan(selector.options)
    let timer = (remaining ?? timeout).map { session.clock.after($0) { reader.stop() } }
    defer { timer?.cancel() }
    var results = ScanResults.Iterator(reader: reader)
    var refusing: DeviceAddress?
    while let result = try await results.next() {
      guard selector.accepts(result) else { continue }
      if result.isConnectable || !isToConnect { return result }
      refusing = result.address
    }
    if Task.isCancelled { throw .cancelled }
    let time = timeout.map { " within \($0)" } ?? ""
    if let refusing {
      throw BLEError(
        .notFound,
        "no \(selector) that accepts connections was found\(time), but \(refusing) advertises without accepting any: it may be connected to another device"
      )
    }
    throw BLEError(.notFound, "no \(selector) was found\(time). Is it switched on, near, and not connected elsewhere?")
  }
}
