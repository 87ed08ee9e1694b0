internal import BLEHCI

/// The two sets of advertising commands. After the first command of one set, the other set is disallowed until a reset
/// (Vol 4, Part E, 3.1.1).
enum AdvertisingCommandSet: Sendable { case legacy, extended }

/// A command that a virtual controller can have, and how the controller performs it.
struct SupportedCommand: Sendable {
  /// Performs the command, and answers it.
  typealias Perform =
    @Sendable (
      _ controller: inout VirtualController, _ packet: HCICommandPacket, _ context: inout VirtualRadioContext
    ) -> Void

  let opcode: HCIOpcode
  /// Whether Command Status answers the command, and not Command Complete.
  let isAnsweredByStatus: Bool
  /// The set of advertising commands that the command belongs to.
  let commandSet: AdvertisingCommandSet?
  /// The feature without which a controller does not have the command.
  let feature: HCI.LEFeatures
  /// As ``feature``, of the features beyond the first 64.
  let furtherFeature: HCI.LEFurtherFeatures
  let perform: Perform

  init<Command: HCICommand>(
    _ type: Command.Type, in commandSet: AdvertisingCommandSet? = nil, needs feature: HCI.LEFeatures = [],
    _ furtherFeature: HCI.LEFurtherFeatures = [], _ perform: @escaping Perform
  ) {
    opcode = Command.opcode
    isAnsweredByStatus = Command.isAnsweredByStatus
    self.commandSet = commandSet
    self.feature = feature
    self.furtherFeature = furtherFeature
    self.perform = perform
  }
}
