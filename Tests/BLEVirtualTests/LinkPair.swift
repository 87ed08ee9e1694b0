import BLEHCI
import BLEVirtual
import BLEWire

/// Two controllers, and a link of 30 ms between them.
struct LinkPair {
  var stage: RadioStage
  let central: ControllerID
  let peripheral: ControllerID
  let handles: (central: ConnectionHandle, peripheral: ConnectionHandle)

  /// - Parameter prepare: what the hosts of the central and of the peripheral do before the link begins.
  init(
    _ pacing: VirtualRadio.Pacing = .immediate,
    central configureCentral: (inout VirtualControllerConfiguration) -> Void = { _ in },
    peripheral configurePeripheral: (inout VirtualControllerConfiguration) -> Void = { _ in },
    prepare: (inout RadioStage, ControllerID, ControllerID) throws -> Void = { _, _, _ in }
  ) throws {
    var stage = RadioStage(pacing: pacing)
    central = stage.attach(configureCentral)
    peripheral = stage.attach(configurePeripheral)
    try prepare(&stage, central, peripheral)
    handles = try stage.connect(central, to: peripheral, LinkTests.parameters(24), within: .seconds(1))
    // Each host has got what belongs to a new link.
    stage.run(for: .seconds(2))
    for id in [central, peripheral] { _ = stage.take(id) }
    self.stage = stage
  }

  func id(_ role: HCI.Role) -> ControllerID { role == .central ? central : peripheral }
  func handle(_ role: HCI.Role) -> ConnectionHandle { role == .central ? handles.central : handles.peripheral }

  /// The LE meta events of one kind that both hosts get within two seconds. The others are discarded.
  mutating func take<Event: LEEventParameters>(
    _ kind: Event.Type
  ) throws -> (central: [Event], peripheral: [Event]) {
    stage.run(for: .seconds(2))
    return (
      try stage.metaEvents(central).compactMap { $0 as? Event },
      try stage.metaEvents(peripheral).compactMap { $0 as? Event }
    )
  }
}
