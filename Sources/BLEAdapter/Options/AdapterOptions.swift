public import BLEHost

/// The adapter that a program uses, and its settings.
///
/// All users of one transport share one adapter, and the options of the first one count: `Adapter`s of the Swift API
/// and managers. Others that a later user asks for have no effect, and the log has a line.
///
/// ```swift
/// let options = AdapterOptions(transport: "linux:hci1", deviceName: "Clock")
/// let adapter = try await Adapter.open(options)
/// ```
public struct AdapterOptions: Hashable, Sendable {
  /// The way to the controller, for example `linux:hci0`, `serial:/dev/ttyACM0,1000000`, `tcp-client:127.0.0.1:6402` or
  /// `virtual`; nil takes the program's `--transport X`, otherwise `BLE_TRANSPORT`, otherwise `linux`.
  public var transport: String?
  /// The file that the packet trace goes to, in the btsnoop format; nil takes `--snoop FILE`, otherwise `BLE_SNOOP`,
  /// otherwise none.
  public var snoop: String?
  /// The Device Name characteristic of the GAP service, at most 248 octets of UTF-8; nil takes the name that the
  /// program advertises.
  public var deviceName: String?
  /// The Appearance characteristic of the GAP service (Assigned Numbers, 2.6).
  public var appearance: UInt16?
  /// The largest ATT_MTU offered to centrals, 23 to 517 octets.
  public var maximumMTU: Int?

  /// The priority of each connection of the adapter, in both roles; nil leaves connections unchanged. A connection can
  /// have another one.
  public var connectionPriority: ConnectionPriority?

  /// The enhanced ATT bearers that the central requests of each peripheral that supports them, 0 to 5 (Vol 3, Part F,
  /// 3.2.11). With one or more, the server also offers them, and accepts up to five for each link.
  ///
  /// With several bearers operations on different attributes are performed at the same time. They need an encrypted
  /// link. The default is 0: some devices support enhanced bearers in name only. An adapter that the kernel runs has
  /// none.
  public var enhancedATTBearers = 0

  /// The storage of the devices that a central manager has connected to: an identifier that the program has stored then
  /// names its device in a later run without a scan.
  public var deviceStorage = DeviceStorage.standard

  /// How the adapter pairs, and where its bonds are stored.
  public var pairing: PairingOptions
  /// Whether the adapter uses private addresses.
  public var privacy = PrivacyOptions()
  /// The identity address of the adapter.
  public var address = OwnAddress.controller

  /// The identity address of an adapter (Vol 6, Part B, 1.3). Peers that bond recognize the adapter by it.
  public enum OwnAddress: Hashable, Sendable {
    /// The public address of the controller; if it has none, a static random one that is drawn.
    case controller
    /// A static random address, drawn anew by each process: peers do not recognize the adapter after a restart.
    case random
    /// A static random address of 48 bits. The two most significant ones are set, as they are in each static address
    /// (Vol 6, Part B, 1.3.2.1).
    case staticRandom(UInt64)
  }

  /// The storage of devices between runs. Bonded devices are also known by their bonds.
  ///
  /// A file has the permissions 0600, and needs the same owner and folder as a file of bonds (``FileBondStore``). It
  /// has the addresses and names of at most 1,024 devices: one more removes the device whose last connection is the
  /// oldest. Private addresses are not in it, because devices change them. `ble bonds` lists the
  /// devices and removes them.
  public enum DeviceStorage: Hashable, Sendable {
    /// A file beside that of the bonds: `clock.devices.json` beside `clock.json`; ``memory`` if the bonds have no
    /// file (``PairingOptions/Storage``).
    case standard
    /// The file at this path.
    case file(String)
    /// No file: a device is remembered until the program ends.
    case memory
  }

  /// Creates options; a property that is nil gets its default.
  public init(
    transport: String? = nil, snoop: String? = nil, deviceName: String? = nil, appearance: UInt16? = nil,
    maximumMTU: Int? = nil, pairing: PairingOptions = PairingOptions()
  ) {
    self.transport = transport
    self.snoop = snoop
    self.deviceName = deviceName
    self.appearance = appearance
    self.maximumMTU = maximumMTU
    self.pairing = pairing
  }
}

extension AdapterOptions {
  /// The members that ask for something else than the options with which the adapter was opened. A member with its
  /// default asks for nothing.
  func membersWithoutEffect(beside first: Self) -> [String] {
    let standard = Self()
    func differs<Value: Equatable>(_ member: (Self) -> Value) -> Bool {
      member(self) != member(standard) && member(self) != member(first)
    }
    var names: [String] = []
    if differs(\.snoop) { names.append("snoop") }
    if differs(\.deviceName) { names.append("deviceName") }
    if differs(\.appearance) { names.append("appearance") }
    if differs(\.maximumMTU) { names.append("maximumMTU") }
    if differs(\.connectionPriority) { names.append("connectionPriority") }
    if differs(\.enhancedATTBearers) { names.append("enhancedATTBearers") }
    if differs(\.deviceStorage) { names.append("deviceStorage") }
    if differs(\.pairing) { names.append("pairing") }
    if differs(\.privacy) { names.append("privacy") }
    if differs(\.address) { names.append("address") }
    return names
  }
}

extension AdapterOptions.DeviceStorage {
  /// The file; nil if there is none.
  ///
  /// - Parameter bonds: the path of the file of bonds.
  package func path(beside bonds: String?) -> String? {
    switch self {
    case .standard: bonds.map { FileBondStore.path(beside: $0, "devices") }
    case .file(let path): path
    case .memory: nil
    }
  }
}
