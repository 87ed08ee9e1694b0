package import BLELinux
import BLERuntime

extension RestorationStore {
  /// The store of a manager.
  ///
  /// - Returns: nil, with a line in the log, if the identifier cannot be used, if another manager uses it, and if the
  ///   file cannot be trusted.
  package static func open(
    _ identifier: String, _ role: Role, _ options: AdapterOptions, log: @escaping Log = BluetoothLog.write
  ) -> RestorationStore? {
    guard isUsable(identifier, log: log) else { return nil }
    // Without a transport there is no adapter, which its manager reports.
    guard let transport = try? LaunchOptions.transport(code: options.transport) else { return nil }
    return open(
      identifier, role, beside: options.pairing.storage.path(transport: "\(transport)"), "\(transport)", log: log)
  }
}
